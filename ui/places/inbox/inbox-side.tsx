/** The inboxes, with how much of each is unread: at the left where there is room, above the list as a choice where not. */
import { Link } from '@tanstack/react-router';
import { Inbox as InboxIcon } from 'lucide-react';
import { useState } from 'react';
import type { Inbox } from '../../../src/client/api-types.ts';
import { holdsWords } from '../../components/search-text.ts';

export interface NamedInbox {
  name: string;
  count: number;
  unseen: number;
}

/** Inboxes of the same name under several sender domains are one here, as they are to the list. By name, `test-2` before `test-10`. */
export function joinInboxes(found: readonly Inbox[]): readonly NamedInbox[] {
  const byName = new Map<string, NamedInbox>();
  for (const { Inbox: name, Count, Unseen } of found) {
    const before = byName.get(name) ?? { name, count: 0, unseen: 0 };
    byName.set(name, { name, count: before.count + Count, unseen: before.unseen + Unseen });
  }
  return [...byName.values()].sort((a, b) => a.name.localeCompare(b.name, undefined, { numeric: true }));
}

/** From here on they can be looked for. */
const MANY = 20;

export const inboxLabel = (name: string) => (name === '' ? '(no name)' : name);

export function InboxSide({
  inboxes,
  current,
}: {
  inboxes: readonly NamedInbox[];
  current: string | undefined;
}) {
  const [typed, setTyped] = useState('');
  const all = inboxes.reduce((sum, one) => sum + one.unseen, 0);
  return (
    <nav aria-label="Inboxes" className="hidden w-56 shrink-0 flex-col border-line border-r xl:flex">
      <h2 className="flex h-12 shrink-0 items-center px-4 font-semibold text-base">Inbox</h2>
      {inboxes.length > MANY && (
        <input
          type="search"
          aria-label="Find an inbox"
          placeholder="Find an inbox"
          value={typed}
          onChange={({ target }) => setTyped(target.value)}
          className="mx-2 mb-2 h-8 shrink-0 rounded-md border border-line-strong bg-page px-2"
        />
      )}
      <ul className="min-h-0 flex-1 overflow-y-auto px-2 pb-2">
        <Entry name={undefined} label="All mail" unseen={all} isCurrent={current === undefined} />
        {inboxes.length > 1 &&
          inboxes
            .filter(({ name }) => holdsWords([inboxLabel(name)], typed))
            .map(({ name, unseen }) => (
              <Entry
                key={name}
                name={name}
                label={inboxLabel(name)}
                unseen={unseen}
                isCurrent={current === name}
              />
            ))}
      </ul>
    </nav>
  );
}

function Entry(props: { name: string | undefined; label: string; unseen: number; isCurrent: boolean }) {
  const { name, label, unseen, isCurrent } = props;
  return (
    <li>
      <Link
        to="/inbox"
        search={name === undefined ? {} : { inbox: name }}
        aria-current={isCurrent ? 'page' : undefined}
        className={`flex min-h-8 items-center gap-2 rounded-md px-2 ${isCurrent ? 'bg-chosen font-semibold' : 'hover:bg-hover'}`}
      >
        <InboxIcon size={14} aria-hidden className="shrink-0 text-soft" />
        <bdi className="truncate" title={label}>
          {label}
        </bdi>
        {unseen > 0 && (
          <span className="ml-auto text-soft text-xs tabular-nums">
            {unseen.toLocaleString()}
            <span className="sr-only"> unread</span>
          </span>
        )}
      </Link>
    </li>
  );
}
