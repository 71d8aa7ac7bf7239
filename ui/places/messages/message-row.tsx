/** One row of the list: a link to the message, with where it stands, who it is for, and its subject. */
import { Link } from '@tanstack/react-router';
import { memo } from 'react';
import type { MessageSummary } from '../../../src/client/api-types.ts';
import { Status } from '../../components/status.tsx';
import { Time } from '../../components/time.tsx';
import { statusOf } from './status-words.ts';

/** Two lines where there is little room, a row of a table where there is more; all rows of one height. */
export const LINES_PX = 56;
export const TABLE_PX = 40;

export const MessageRow = memo(function MessageRow(props: {
  item: MessageSummary;
  isOpen: boolean;
  isCursor: boolean;
  isTable: boolean;
}) {
  const { item, isOpen, isCursor, isTable } = props;
  const [first, ...others] = [...item.To, ...item.CC, ...item.BCC];
  const { status, words } = statusOf(item);
  const recipient = (
    <span className="flex min-w-0 gap-2">
      <bdi className="truncate">{first?.Email ?? '(nobody)'}</bdi>
      {others.length > 0 && <span className="shrink-0 text-soft tabular-nums">+{others.length}</span>}
    </span>
  );
  const subject = (
    <span dir="auto" className={`truncate text-left ${isTable ? '' : 'text-soft'}`}>
      {item.Subject === '' ? '(no subject)' : item.Subject}
    </span>
  );
  const time = <Time at={item.CreatedAt} className="shrink-0 text-right text-soft text-xs" />;
  return (
    <div
      style={{ height: isTable ? TABLE_PX : LINES_PX }}
      className={`relative flex border-line border-b ${isOpen ? 'bg-chosen' : 'hover:bg-hover'} ${isCursor ? 'shadow-[inset_3px_0_var(--color-accent)]' : ''}`}
    >
      <Link
        to="/messages/$id"
        params={{ id: item.MessageID }}
        search={true}
        aria-current={isOpen ? 'true' : undefined}
        className={`grid min-w-0 flex-1 content-center gap-x-3 px-4 -outline-offset-2 ${isTable ? COLUMNS : 'grid-cols-[minmax(0,1fr)]'}`}
      >
        {isTable ? (
          <>
            <Status status={status} words={words} />
            {recipient}
            {subject}
            <bdi className="truncate text-soft">{item.From.Email}</bdi>
            {time}
          </>
        ) : (
          <>
            <span className="flex items-baseline justify-between gap-3">
              {recipient}
              {time}
            </span>
            <span className="flex items-baseline justify-between gap-3">
              {subject}
              <Status status={status} words={words} className="max-w-44 shrink-0 text-xs" />
            </span>
          </>
        )}
      </Link>
    </div>
  );
});

const COLUMNS =
  'items-center grid-cols-[clamp(9rem,14vw,12rem)_minmax(0,5fr)_minmax(0,5fr)_minmax(0,3fr)_5rem]';
