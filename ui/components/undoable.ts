/**
 * Something that cannot be taken back once the server has done it: done in ten seconds, or as the page is closed or the person
 * signs out, unless it is undone until then. Given the words of the message and what is to be done; tells what came of it.
 */
import { messageOf, toast } from './toasts.tsx';

const UNDO_MS = 10_000;

export interface Undoable {
  text: string;
  /** `leaving`: the page is being closed, the request has to outlive it. */
  run(leaving: boolean): Promise<unknown>;
  /** It was undone, or it failed: shows again what was hidden. */
  onBack?(): void;
  onDone?(): void;
}

/** What can still be undone. */
const open = new Set<{ go(): Promise<void>; end(): void }>();

/** Does at once what can still be undone, while the session of its person lasts. */
export async function doUndoables(): Promise<void> {
  await Promise.all([...open].map(({ go }) => go()));
}

/** Never does it: the session is that of somebody else. */
export function dropUndoables(): void {
  for (const { end } of open) end();
}

export function undoable({ text, run, onBack, onDone }: Undoable): void {
  const go = async (leaving = false): Promise<void> => {
    end();
    await run(leaving).then(onDone, (error: unknown) => {
      onBack?.();
      toast({ text: `Not done: ${messageOf(error)}` });
    });
  };
  const one = { go, end };
  open.add(one);
  const onLeave = () => void go(true);
  const timer = setTimeout(go, UNDO_MS);
  addEventListener('pagehide', onLeave);
  const close = toast({
    text,
    standsMs: UNDO_MS,
    action: {
      name: 'Undo',
      run() {
        end();
        onBack?.();
      },
    },
  });

  function end(): void {
    open.delete(one);
    clearTimeout(timer);
    removeEventListener('pagehide', onLeave);
    close();
  }
}
