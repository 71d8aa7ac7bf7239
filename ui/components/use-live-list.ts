/** A live list for a component: opened with it, closed with it, another one when the key changes. */
import { type RefObject, useCallback, useEffect, useRef, useState, useSyncExternalStore } from 'react';
import { type ListSnapshot, type LiveList, type LiveSource, NOTHING_YET, openLiveList } from './live-list.ts';

/** `key` names what `source` finds. The list is null until it is opened. The third value: how many rows are above the visible part. */
export function useLiveList<Item>(
  source: () => LiveSource<Item>,
  key: string,
): readonly [ListSnapshot<Item>, LiveList<Item> | null, RefObject<number>] {
  const [list, setList] = useState<LiveList<Item> | null>(null);
  const left = useRef(0);
  const given = useRef(source);
  given.current = source;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key stands for the source
  useEffect(() => {
    const opened = openLiveList(given.current());
    setList(opened);
    left.current = 0;
    return () => opened.close();
  }, [key]);
  const snapshot = useSyncExternalStore(
    useCallback((listener: () => void) => list?.subscribe(listener) ?? (() => {}), [list]),
    () => list?.snapshot() ?? (NOTHING_YET as ListSnapshot<Item>),
  );
  return [snapshot, list, left];
}
