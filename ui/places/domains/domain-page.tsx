/**
 * One sender domain: how it stands, its records with what was found of each, its keys and what aligns, what receivers report of
 * it, its limits, and its settings. Which of them is shown stands in the address.
 */
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { RefreshCw } from 'lucide-react';
import type { Domain } from '../../../src/client/api-types.ts';
import { ME, mayDo } from '../../api/me.ts';
import { listHolds } from '../../api/queue.ts';
import { Button } from '../../components/button.tsx';
import { NotYet, Page } from '../../components/page.tsx';
import { Segments } from '../../components/segments.tsx';
import { Ago, Lasting, Until } from '../../components/time.tsx';
import { useKeys } from '../../components/use-keys.ts';
import { useLive } from '../../components/use-live.ts';
import { DomainWord } from './domain-list.tsx';
import { isGreen, keepsBackAll, meaningOf, wordOf } from './domain-status.ts';
import { LimitsView } from './limits-view.tsx';
import { RecordsView } from './records-view.tsx';
import { ReportsView } from './reports-view.tsx';
import { SettingsView } from './settings-view.tsx';
import { SigningView } from './signing-view.tsx';
import { type LiveDomain, useDomain } from './use-domain.ts';

export function DomainPage() {
  const { name } = useParams({ from: '/domains/$name' });
  const { view = 'records' } = useSearch({ from: '/domains/$name' });
  const navigate = useNavigate({ from: '/domains/$name' });
  const { data: me } = useQuery(ME);
  const mayChange = mayDo(me, 'domains:write');
  const live = useDomain(name, mayChange);
  const { data: domain, error, again } = live;
  useKeys({ u: () => void navigate({ to: '/domains' }) });
  return (
    <Page
      error={error}
      back={{ to: '/domains', label: 'Back to the domains', keys: 'u' }}
      name={name}
      title={<bdi>{name}</bdi>}
      tools={
        domain !== undefined &&
        mayChange && (
          <Button
            className="ml-auto"
            look={isGreen(domain) ? 'plain' : 'main'}
            isBusy={live.isChecking}
            onClick={live.checkNow}
          >
            <RefreshCw
              size={14}
              aria-hidden
              className={live.isChecking ? 'animate-spin motion-reduce:animate-none' : ''}
            />
            Check now
          </Button>
        )
      }
    >
      {domain === undefined ? (
        <NotYet error={error} onAgain={again} />
      ) : (
        <>
          <Standing domain={domain} live={live} mayHold={mayDo(me, 'admin')} />
          <div className="max-w-full overflow-x-auto [scrollbar-width:none]">
            <Segments
              label="What is shown"
              value={view}
              onValue={(next) => void navigate({ search: next === 'records' ? {} : { view: next } })}
              choices={[
                { value: 'records', name: 'DNS records' },
                { value: 'signing', name: 'Signing' },
                { value: 'reports', name: 'Reports' },
                { value: 'limits', name: 'Limits' },
                { value: 'settings', name: 'Settings' },
              ]}
            />
          </div>
          {view === 'signing' ? (
            <SigningView domain={domain} mayChange={mayChange} onChanged={live.show} />
          ) : view === 'reports' ? (
            <ReportsView domain={domain} />
          ) : view === 'limits' ? (
            <LimitsView domain={domain} />
          ) : view === 'settings' ? (
            <SettingsView domain={domain} mayChange={mayChange} onChanged={live.show} />
          ) : (
            <RecordsView domain={domain} />
          )}
        </>
      )}
    </Page>
  );
}

function Standing({
  domain,
  live: { everyMs },
  mayHold,
}: {
  domain: Domain;
  live: LiveDomain;
  mayHold: boolean;
}) {
  const { LastCheckedAt, FailingSince, HeldFrom } = domain;
  const word = wordOf(domain, Date.now());
  return (
    <div role="status" aria-label="How it stands" className="grid gap-1">
      <p className="flex flex-wrap items-center gap-x-3">
        <span className="font-semibold">
          <DomainWord domain={domain} />
        </span>
        <span>{meaningOf(domain, Date.now())}</span>
      </p>
      {mayHold && <HeldBack name={domain.Domain} />}
      <p className="text-soft text-xs">
        {LastCheckedAt === null ? (
          'Not checked yet'
        ) : (
          <>
            Checked <Ago at={LastCheckedAt} />
          </>
        )}
        {FailingSince !== null && (
          <>
            {' '}
            · failing <Lasting at={FailingSince} />
          </>
        )}
        {word === 'Failing' && HeldFrom !== null && (
          <>
            {' '}
            · its mail <Until at={HeldFrom} before="will be held" after="was held" />
          </>
        )}
        {everyMs !== null &&
          ` · checked again every ${everyMs < 60_000 ? `${everyMs / 1_000} seconds` : 'minute'} while this page is open`}
      </p>
    </div>
  );
}

const HOLDS_EVERY_MS = 30_000;

/** What is said beside its status, which knows nothing of holds. */
function HeldBack({ name }: { name: string }) {
  const { data } = useLive(['queue', 'holds'], listHolds, HOLDS_EVERY_MS);
  const hold = data?.Items.find((one) => keepsBackAll(one, name));
  if (hold === undefined) return null;
  return (
    <p>
      All its mail waits now, because somebody holds it back: <bdi>{hold.Reason}</bdi>. See{' '}
      <Link to="/queue" search={{ view: 'holds' }} className="text-accent underline">
        the holds
      </Link>
      .
    </p>
  );
}
