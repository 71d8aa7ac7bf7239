/** Who changed what, the newest first, each entry as a sentence. What is looked for stands in the address. For operators. */
import { useNavigate, useSearch } from '@tanstack/react-router';
import { ScrollText } from 'lucide-react';
import type { AuditEntry, Me } from '../../../../src/client/api-types.ts';
import { listAudit } from '../../../api/access.ts';
import { Button } from '../../../components/button.tsx';
import { Listing } from '../../../components/more-button.tsx';
import { Notice } from '../../../components/notice.tsx';
import { usePages } from '../../../components/pages.ts';
import { Instant } from '../../../components/time.tsx';
import { AUDIT } from '../keys.ts';
import { useNames } from '../makers.tsx';
import { AuditFilters } from './audit-filters.tsx';
import { auditText } from './audit-words.ts';

export function AuditView({ me }: { me: Me }) {
  const { who, operation, since, until } = useSearch({ from: '/access' });
  const navigate = useNavigate({ from: '/access' });
  const query = { Who: who, Operation: operation, Since: dayStart(since, 0), Until: dayStart(until, 1) };
  const list = usePages([...AUDIT, query], (After, signal) => listAudit({ ...query, After }, signal), {
    isSearch: true,
  });
  const { tokenName, emailOf } = useNames(me);
  const nameOf = (id: string): string | null => tokenName(id) ?? emailOf(id);
  return (
    <>
      <AuditFilters />
      <Listing
        list={list}
        empty={
          <Notice title="No change is recorded" icon={<ScrollText aria-hidden />}>
            {who || operation || since || until ? (
              <Button onClick={() => void navigate({ search: { tab: 'audit' } })}>Show all changes</Button>
            ) : (
              'Changes of tokens, people, domains, webhooks, suppressions and holds are kept here for 400 days.'
            )}
          </Notice>
        }
        more="Show older changes"
      >
        {(entries) => (
          <ul
            aria-label="Changes"
            aria-busy={list.isOld}
            className={`grid border-line border-t ${list.isOld ? 'opacity-60' : ''}`}
          >
            {entries.map((entry) => (
              <Entry key={entry.AuditID} entry={entry} nameOf={nameOf} />
            ))}
          </ul>
        )}
      </Listing>
    </>
  );
}

function Entry({ entry, nameOf }: { entry: AuditEntry; nameOf(id: string): string | null }) {
  const { Time, By, WhoName, WhoID, IP, Resource, Changed } = entry;
  const navigate = useNavigate({ from: '/access' });
  return (
    <li className="flex flex-wrap items-baseline gap-x-4 gap-y-0.5 border-line border-b py-2">
      <Instant at={Time} className="w-36 shrink-0 text-soft text-xs" />
      <p className="min-w-0 flex-1 basis-72" title={Resource}>
        {By === 'Token' && <span className="text-soft">The token </span>}
        <button
          type="button"
          title="Show only what this one changed"
          className="text-left font-semibold hover:underline"
          onClick={() => void navigate({ search: (before) => ({ ...before, who: WhoID }) })}
        >
          <bdi>{WhoName || WhoID}</bdi>
        </button>{' '}
        <bdi>{auditText(entry, nameOf)}</bdi>
        {Changed.length > 0 && (
          <>
            {': '}
            <bdi className="break-words">{Changed.join(', ')}</bdi>
          </>
        )}
      </p>
      <span className="shrink-0 text-soft text-xs">from {IP}</span>
    </li>
  );
}

/** The beginning of a day in the reader's zone, so many days later; undefined where none is given. */
function dayStart(day: string | undefined, later: number): string | undefined {
  if (day === undefined) return undefined;
  const at = new Date(`${day}T00:00`);
  if (Number.isNaN(at.getTime())) return undefined;
  at.setDate(at.getDate() + later);
  return at.toISOString();
}
