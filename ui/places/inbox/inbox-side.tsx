/** The inboxes, with how much of each is unread: at the left where there is room, above the list as a choice where not. */
import { Link } from '@tanstack/react-router';
import { BookOpen, Inbox as InboxIcon, Keyboard } from 'lucide-react';
import type { Inbox } from '../../../src/client/api-types.ts';
import { IconButton } from '../../components/button.tsx';
import { ThemeButton } from '../../components/theme-button.tsx';

/** Inboxes of the same name under several sender domains are one here, as they are to the list. */
export interface NamedInbox {
  name: string;
  count: number;
  unseen: number;
}

export function joinInboxes(found: readonly Inbox[]): readonly NamedInbox[] {
  const byName = new Map<string, NamedInbox>();
  for (const { Inbox: name, Count, Unseen } of found) {
    const before = byName.get(name) ?? { name, count: 0, unseen: 0 };
    byName.set(name, { name, count: before.count + Count, unseen: before.unseen + Unseen });
  }
  return [...byName.values()];
}

export const inboxLabel = (name: string) => (name === '' ? '(no name)' : name);

export function InboxSide({
  inboxes,
  current,
  onKeys,
}: {
  inboxes: readonly NamedInbox[];
  current: string | undefined;
  onKeys(): void;
}) {
  const all = inboxes.reduce((sum, one) => sum + one.unseen, 0);
  return (
    <nav aria-label="Inboxes" className="hidden w-56 shrink-0 flex-col border-line border-r xl:flex">
      <div className="flex h-12 items-center px-4">
        <Brand />
      </div>
      <ul className="min-h-0 flex-1 overflow-y-auto px-2 pb-2">
        <Entry name={undefined} label="All mail" unseen={all} isCurrent={current === undefined} />
        {inboxes.length > 1 &&
          inboxes.map(({ name, unseen }) => (
            <Entry
              key={name}
              name={name}
              label={inboxLabel(name)}
              unseen={unseen}
              isCurrent={current === name}
            />
          ))}
      </ul>
      <div className="flex items-center gap-1 border-line border-t p-2">
        <SideTools onKeys={onKeys} />
      </div>
    </nav>
  );
}

export function Brand() {
  return (
    <span className="flex items-center gap-2 font-semibold text-base">
      <svg viewBox="0 0 24 24" width="22" height="22" aria-hidden="true">
        <rect width="24" height="24" rx="6" className="fill-accent-fill" />
        <path
          d="M5.5 8.5 12 13.2l6.5-4.7M5.5 8h13v8.5h-13z"
          className="fill-none stroke-on-accent"
          strokeWidth="1.7"
          strokeLinecap="round"
          strokeLinejoin="round"
        />
      </svg>
      postrider
    </span>
  );
}

export function SideTools({ onKeys }: { onKeys(): void }) {
  return (
    <>
      <ThemeButton />
      <IconButton label="Keys" keys="?" onClick={onKeys}>
        <Keyboard size={16} aria-hidden />
      </IconButton>
      <a
        href="/api/v1/docs"
        title="Reference of the API"
        aria-label="Reference of the API"
        className="inline-grid size-8 place-items-center rounded-md text-soft hover:bg-hover hover:text-ink"
      >
        <BookOpen size={16} aria-hidden />
      </a>
    </>
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
            {unseen}
            <span className="sr-only"> unread</span>
          </span>
        )}
      </Link>
    </li>
  );
}
