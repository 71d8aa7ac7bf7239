/** One row of the list: a link to the mail, with who it is for, its subject, and a box to select it. */
import { Link } from '@tanstack/react-router';
import { Send } from 'lucide-react';
import { memo } from 'react';
import type { CaptureSummary } from '../../../src/client/api-types.ts';
import { Time } from '../../components/time.tsx';

/** Every row has the same height, so that the place of each is known without measuring. */
export const ROW_PX = 64;

export const CaptureRow = memo(function CaptureRow(props: {
  item: CaptureSummary;
  isOpen: boolean;
  isCursor: boolean;
  isSelected: boolean;
  isSelecting: boolean;
  onToggle(id: string): void;
}) {
  const { item, isOpen, isCursor, isSelected, isSelecting } = props;
  const unread = item.SeenAt === null;
  const subject = item.Subject === '' ? '(no subject)' : item.Subject;
  const look = isSelected || isOpen ? 'bg-chosen' : 'hover:bg-hover';
  return (
    <div
      style={{ height: ROW_PX }}
      className={`group relative flex border-line border-b ${look} ${isCursor ? 'shadow-[inset_3px_0_var(--color-accent)]' : ''}`}
    >
      <label className="grid w-9 pointer-coarse:w-11 shrink-0 place-items-center self-stretch">
        <input
          type="checkbox"
          checked={isSelected}
          onChange={() => props.onToggle(item.ID)}
          aria-label={`Select ${subject}`}
          className={`peer size-4 accent-accent-fill ${isSelecting ? '' : 'opacity-0 group-hover:opacity-100 focus-visible:opacity-100'} col-start-1 row-start-1`}
        />
        {unread && !isSelecting && (
          <span className="col-start-1 row-start-1 size-2 rounded-full bg-accent forced-color-adjust-none group-hover:opacity-0 peer-focus-visible:opacity-0" />
        )}
      </label>
      <Link
        to="/inbox/$id"
        params={{ id: item.ID }}
        search={true}
        aria-current={isOpen ? 'true' : undefined}
        className="flex min-w-0 flex-1 flex-col justify-center py-2 pr-3 -outline-offset-2"
      >
        <span className="flex items-baseline gap-2">
          {unread && <span className="sr-only">Unread: </span>}
          <span dir="auto" className={`truncate text-left ${unread ? 'font-semibold' : ''}`}>
            {subject}
          </span>
          <Time at={item.CapturedAt} className="ml-auto shrink-0 text-soft text-xs" />
        </span>
        <span className="flex items-center gap-2 text-soft text-xs">
          <span className="truncate">
            <bdi>{item.EnvelopeTo}</bdi>
            <span aria-hidden> ← </span>
            <span className="sr-only"> from </span>
            <bdi>{item.From.Name === '' ? item.From.Email : item.From.Name}</bdi>
          </span>
          {item.ReleasedAt !== null && (
            <span title="Released" className="ml-auto shrink-0">
              <Send size={12} aria-label="Released" />
            </span>
          )}
        </span>
      </Link>
    </div>
  );
});
