/**
 * The rows of the list: only those that are in sight are in the page, so ten thousand cost as much as twenty. What arrives
 * stands on top; where the reader has scrolled down, what is being read does not move, and a button leads to the top.
 */
import { ArrowUp } from 'lucide-react';
import { type Ref, useEffect, useImperativeHandle, useLayoutEffect, useRef, useState } from 'react';
import type { CaptureSummary } from '../../../src/client/api-types.ts';
import { CaptureRow, ROW_PX } from './capture-row.tsx';

/** Rows beyond the edges of what is in sight. */
const BEYOND = 6;

export interface RowsHandle {
  /** Brings a row into sight. */
  reveal(index: number): void;
}

export function CaptureRows(props: {
  items: readonly CaptureSummary[];
  cursorId: string | null;
  openId: string | null;
  selected: ReadonlySet<string>;
  hasMore: boolean;
  onMore(): void;
  onToggle(id: string): void;
  ref: Ref<RowsHandle>;
}) {
  const { items, cursorId, openId, selected, hasMore, onMore } = props;
  const box = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(800);
  const [above, setAbove] = useState(0);
  const first = useRef<string | undefined>(undefined);

  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return;
    const watcher = new ResizeObserver(() => setHeight(element.clientHeight));
    watcher.observe(element);
    return () => watcher.disconnect();
  }, []);

  // What is read stays where it is while more comes in above.
  useLayoutEffect(() => {
    const element = box.current;
    const before = first.current;
    first.current = items[0]?.ID;
    if (element === null || before === undefined || before === items[0]?.ID) return;
    const added = items.findIndex((item) => item.ID === before);
    if (added <= 0 || element.scrollTop < ROW_PX / 2) return;
    element.scrollTop += added * ROW_PX;
    setAbove((count) => count + added);
  }, [items]);

  const from = Math.max(0, Math.floor(top / ROW_PX) - BEYOND);
  const to = Math.min(items.length, Math.ceil((top + height) / ROW_PX) + BEYOND);
  useEffect(() => {
    if (hasMore && to > items.length - 30) onMore();
  }, [hasMore, to, items.length, onMore]);

  useImperativeHandle(
    props.ref,
    () => ({
      reveal(index) {
        const element = box.current;
        if (element === null) return;
        const at = index * ROW_PX;
        if (at < element.scrollTop) element.scrollTop = at;
        else if (at + ROW_PX > element.scrollTop + element.clientHeight)
          element.scrollTop = at + ROW_PX - element.clientHeight;
      },
    }),
    [],
  );

  const onScroll = () => {
    const at = box.current?.scrollTop ?? 0;
    setTop(at);
    if (at < ROW_PX) setAbove(0);
  };

  return (
    <div className="relative min-h-0 flex-1">
      <div ref={box} onScroll={onScroll} className="h-full overflow-y-auto [overflow-anchor:none]">
        <ul aria-label="Captured mail" className="relative" style={{ height: items.length * ROW_PX }}>
          {items.slice(from, to).map((item, place) => (
            <CaptureRow
              key={item.ID}
              item={item}
              top={(from + place) * ROW_PX}
              isOpen={item.ID === openId}
              isCursor={item.ID === cursorId}
              isSelected={selected.has(item.ID)}
              isSelecting={selected.size > 0}
              onToggle={props.onToggle}
            />
          ))}
        </ul>
      </div>
      {above > 0 && (
        <button
          type="button"
          onClick={() => box.current?.scrollTo({ top: 0 })}
          className="absolute top-2 left-1/2 inline-flex -translate-x-1/2 items-center gap-1 rounded-full bg-accent-fill px-3 py-1 text-on-accent"
        >
          <ArrowUp size={14} aria-hidden /> {above} new
        </button>
      )}
    </div>
  );
}
