/**
 * The rows of a list: only those that are in sight are in the page, so ten thousand cost as much as twenty. All have one
 * height. What arrives stands on top; where the reader has scrolled down, what is being read does not move, and a button
 * leads to the top.
 */
import { ArrowUp } from 'lucide-react';
import {
  type KeyboardEvent,
  type ReactNode,
  type Ref,
  type RefObject,
  useEffect,
  useImperativeHandle,
  useLayoutEffect,
  useRef,
  useState,
} from 'react';

/** Rows beyond the edges of what is in sight. */
const BEYOND = 6;

export interface RowsHandle {
  /** Brings a row into sight. */
  reveal(index: number): void;
  /** Scrolls by a key that was pressed beside the list, as one pressed within it does. */
  takeKey(event: KeyboardEvent): void;
}

export function VirtualRows<Item>(props: {
  label: string;
  items: readonly Item[];
  idOf(item: Item): string;
  rowPx: number;
  /** What stands in a row, of that height. */
  row(item: Item): ReactNode;
  /** More rows may be asked for. */
  readsOn: boolean;
  onMore(): void;
  /** Called when another row becomes the first in sight. */
  onSight(index: number): void;
  /** The row where the reader is: it stays in sight when the height of the rows changes, and when the list is shown again. */
  currentId: string | null;
  /** How many rows down the list was read, and where it begins when it is shown again. */
  left: RefObject<number>;
  ref: Ref<RowsHandle>;
}) {
  const { items, idOf, rowPx, readsOn, onMore, onSight, currentId, left } = props;
  const topItem = items[0];
  const topId = topItem === undefined ? undefined : idOf(topItem);
  const box = useRef<HTMLDivElement>(null);
  /** In rows, whose height changes. */
  const [top, setTop] = useState(left.current);
  const [height, setHeight] = useState(800);
  const [above, setAbove] = useState(0);
  const [first, setFirst] = useState(topId);
  /** Pixels that came in above while the list was scrolled down: known, and done. */
  const [moved, setMoved] = useState(0);
  const done = useRef(0);

  // What is read stays where it is while more comes in above: the rows in sight are the same, so none is drawn anew.
  if (first !== topId) {
    setFirst(topId);
    const added = first === undefined ? -1 : items.findIndex((item) => idOf(item) === first);
    if (added > 0 && top >= 0.5) {
      setMoved(moved + added * rowPx);
      setTop(top + added);
      setAbove(above + added);
    }
  }

  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return;
    const watcher = new ResizeObserver(() => setHeight(element.clientHeight));
    watcher.observe(element);
    return () => watcher.disconnect();
  }, []);

  const reveal = (index: number): void => {
    const element = box.current;
    if (element === null) return;
    const at = index * rowPx;
    if (at < element.scrollTop) element.scrollTop = at;
    else if (at + rowPx > element.scrollTop + element.clientHeight)
      element.scrollTop = at + rowPx - element.clientHeight;
  };

  // When the height of rows changes, or the list is shown again, the same row is on top. Not where the list has just been
  // read: it begins with its first.
  const wasShown = useRef(left.current > 0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: only then; later the reader scrolls
  useLayoutEffect(() => {
    if (box.current !== null) box.current.scrollTop = left.current * rowPx;
    const current = wasShown.current ? items.findIndex((item) => idOf(item) === currentId) : -1;
    if (current !== -1) reveal(current);
    wasShown.current = true;
  }, [rowPx]);

  useLayoutEffect(() => {
    if (box.current !== null) box.current.scrollTop += moved - done.current;
    done.current = moved;
  }, [moved]);

  const from = Math.max(0, Math.floor(top) - BEYOND);
  const to = Math.min(items.length, Math.ceil(top + height / rowPx) + BEYOND);
  useEffect(() => onSight(from), [from, onSight]);
  useEffect(() => {
    if (readsOn && to > items.length - 30) onMore();
  }, [readsOn, to, items.length, onMore]);

  // The focus goes with the reader: Enter on the row before would open that one.
  // biome-ignore lint/correctness/useExhaustiveDependencies: when the reader goes to another row
  useEffect(() => {
    const element = box.current;
    if (element === null || !element.contains(document.activeElement)) return;
    const at = items.findIndex((item) => idOf(item) === currentId);
    const row = element.querySelector(`[aria-posinset="${at + 1}"]`);
    if (row?.contains(document.activeElement) === false)
      row.querySelector('a')?.focus({ preventScroll: true });
  }, [currentId]);

  useImperativeHandle(props.ref, () => ({
    reveal,
    takeKey(event) {
      const element = box.current;
      if (element === null) return;
      const page = element.clientHeight - rowPx;
      const whole = element.scrollHeight;
      const by = {
        ArrowDown: rowPx,
        ArrowUp: -rowPx,
        PageDown: page,
        PageUp: -page,
        ' ': event.shiftKey ? -page : page,
        Home: -whole,
        End: whole,
      }[event.key];
      if (by === undefined) return;
      event.preventDefault();
      element.scrollTop += by;
    },
  }));

  const onScroll = () => {
    left.current = (box.current?.scrollTop ?? 0) / rowPx;
    setTop(left.current);
    if (left.current < 1) setAbove(0);
  };

  return (
    <div className="relative min-h-0 flex-1">
      <div ref={box} onScroll={onScroll} className="h-full overflow-y-auto [overflow-anchor:none]">
        <ul aria-label={props.label} style={{ height: items.length * rowPx, paddingTop: from * rowPx }}>
          {items.slice(from, to).map((item, place) => (
            <li
              key={idOf(item)}
              // Who hears the list is told where it is among all, not among those in sight.
              aria-posinset={from + place + 1}
              aria-setsize={readsOn ? -1 : items.length}
            >
              {props.row(item)}
            </li>
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
