/** One row of the list: a link to the message, with where it stands, who it is for, and its subject. */
import { Link } from '@tanstack/react-router';
import { memo } from 'react';
import type { MessageSummary } from '../../../src/client/api-types.ts';
import { Status } from '../../components/status.tsx';
import { Time } from '../../components/time.tsx';
import { statusOf } from './status-words.ts';

/** Every row has the same height, so that the place of each is known without measuring. */
export const ROW_PX = 56;

/** Two lines where there is little room, one row of a table where there is more. */
const LOOK =
  'grid h-full min-w-0 flex-1 grid-cols-[minmax(0,1fr)_auto] content-center gap-x-3 px-4 -outline-offset-2 ' +
  '@3xl:grid-cols-[11rem_minmax(0,4fr)_minmax(0,6fr)_minmax(0,3fr)_5.5rem] @3xl:items-center';

export const MessageRow = memo(function MessageRow(props: {
  item: MessageSummary;
  top: number;
  isOpen: boolean;
  isCursor: boolean;
}) {
  const { item, isOpen, isCursor } = props;
  const [first, ...others] = [...item.To, ...item.CC, ...item.BCC];
  const { status, words } = statusOf(item);
  return (
    <li
      style={{ top: props.top, height: ROW_PX }}
      className={`absolute inset-x-0 flex border-line border-b ${isOpen ? 'bg-chosen' : 'hover:bg-hover'} ${isCursor ? 'shadow-[inset_3px_0_var(--color-accent)]' : ''}`}
    >
      <Link
        to="/messages/$id"
        params={{ id: item.MessageID }}
        search={true}
        aria-current={isOpen ? 'true' : undefined}
        className={LOOK}
      >
        <span className="flex min-w-0 gap-2 @3xl:order-2">
          <bdi className="truncate">{first?.Email ?? '(nobody)'}</bdi>
          {others.length > 0 && <span className="shrink-0 text-soft tabular-nums">+{others.length}</span>}
        </span>
        <Time
          at={item.CreatedAt}
          className="text-right text-soft text-xs @3xl:order-5 @3xl:self-center @3xl:leading-5"
        />
        <span dir="auto" className="truncate text-soft @3xl:order-3 @3xl:text-ink">
          {item.Subject === '' ? '(no subject)' : item.Subject}
        </span>
        <Status
          status={status}
          words={words}
          className="max-w-48 text-xs @3xl:order-1 @3xl:max-w-none @3xl:text-sm"
        />
        <bdi className="hidden truncate text-soft @3xl:order-4 @3xl:block">{item.From.Email}</bdi>
      </Link>
    </li>
  );
});
