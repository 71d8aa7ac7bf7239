/** The list and what is done with it, for the inbox: reading, marking, selecting, deleting with a way back. */

import { useQuery, useQueryClient } from '@tanstack/react-query';
import { type RefObject, useCallback, useEffect, useRef } from 'react';
import type { CaptureSummary } from '../../../src/client/api-types.ts';
import { unlessGone } from '../../api/call.ts';
import {
  captureId,
  captureSource,
  deleteCapture,
  emptyInbox,
  type Filters,
  markAllSeen,
  markSeen,
} from '../../api/captures.ts';
import { ME, mayDo } from '../../api/me.ts';
import { countOf } from '../../components/count.ts';
import type { ListSnapshot } from '../../components/live-list.ts';
import { messageOf, toast } from '../../components/toasts.tsx';
import { undoable } from '../../components/undoable.ts';
import { useLiveList } from '../../components/use-live-list.ts';

export const INBOXES = ['inboxes'] as const;

/** The counts of the inboxes are asked for at most so often while mail pours in. */
const COUNTS_MS = 1_000;
/** Tabs of this browser tell each other what they changed. */
const CHANNEL = 'postrider.captures';

export interface Captures extends ListSnapshot<CaptureSummary> {
  reload(): void;
  loadMore(): void;
  /** The first row in sight. */
  look(index: number): void;
  /** How many rows are above the visible part. */
  left: RefObject<number>;
  mark(ids: readonly string[], seen: boolean): void;
  /** Gone at once, deleted in ten seconds unless it is undone. */
  remove(ids: readonly string[]): void;
  /** The whole inbox, also what is not in the list. */
  markAll(): void;
  removeAll(): Promise<void>;
  mayRemove: boolean;
}

/** `key` names the filters: another one opens another list. */
export function useCaptures(filters: Filters, key: string): Captures {
  const queries = useQueryClient();
  const { data: me } = useQuery(ME);
  const channel = useRef<BroadcastChannel | null>(null);
  const counting = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);

  const recount = useCallback(() => {
    counting.current ??= setTimeout(() => {
      counting.current = undefined;
      void queries.invalidateQueries({ queryKey: INBOXES });
    }, COUNTS_MS);
  }, [queries]);

  const [snapshot, list, left] = useLiveList(() => ({ ...captureSource(filters), onArrival: recount }), key);
  useEffect(() => {
    const opened = new BroadcastChannel(CHANNEL);
    opened.onmessage = () => {
      list?.reload();
      recount();
    };
    channel.current = opened;
    return () => opened.close();
  }, [list, recount]);
  useEffect(() => () => clearTimeout(counting.current), []);

  const changed = useCallback(() => {
    recount();
    channel.current?.postMessage('changed');
  }, [recount]);

  /** Shown at once; `run` does it. */
  const showSeen = useCallback(
    (ids: readonly string[], seen: boolean, run: () => Promise<unknown>) => {
      list?.patch(new Set(ids), { SeenAt: seen ? new Date().toISOString() : null });
      run().then(changed, (error: unknown) => {
        toast({ text: `Not marked: ${messageOf(error)}` });
        list?.reload();
      });
    },
    [list, changed],
  );
  const mark = useCallback(
    (ids: readonly string[], seen: boolean) => {
      const portions = Array.from({ length: Math.ceil(ids.length / 100) }, (_, n) =>
        ids.slice(100 * n, 100 * n + 100),
      );
      showSeen(ids, seen, () => Promise.all(portions.map((portion) => markSeen(portion, seen))));
    },
    [showSeen],
  );
  const markAll = () => showSeen(snapshot.items.map(captureId), true, () => markAllSeen(filters.Inbox));
  const removeAll = async () => {
    const { Deleted } = await emptyInbox(filters.Inbox);
    toast({ text: `${countOf(Deleted, 'mail')} deleted` });
    list?.reload();
    changed();
  };

  const remove = useCallback(
    (ids: readonly string[]) => {
      if (list === null || ids.length === 0) return;
      list.hide(ids);
      const there = new Set(ids);
      undoable({
        text: ids.length === 1 ? 'Deleted' : `${ids.length} mails deleted`,
        // All at once: of a page that is being closed nothing goes on behind an answer.
        async run(leaving) {
          const removal = async (id: string): Promise<void> => {
            await deleteCapture(id, leaving).catch(unlessGone);
            there.delete(id);
          };
          const failed = (await Promise.allSettled(ids.map(removal))).find(
            (one) => one.status === 'rejected',
          );
          if (failed !== undefined) throw failed.reason;
        },
        onBack() {
          list.show([...there]);
          if (there.size < ids.length) changed();
        },
        onDone: changed,
      });
    },
    [list, changed],
  );

  const reload = useCallback(() => list?.reload(), [list]);
  const loadMore = useCallback(() => list?.loadMore(), [list]);
  const look = useCallback((index: number) => list?.look(index), [list]);
  const mayRemove = mayDo(me, 'email:send');
  return { ...snapshot, left, reload, loadMore, look, mark, remove, markAll, removeAll, mayRemove };
}
