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
      ref: focusKeeper(),
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

/**
 * Where a key removes what has the focus, a row or the open mail: the button that takes it back has the focus while it is there,
 * then what stands in that place.
 */
function focusKeeper(): ((back: HTMLElement | null) => void) | undefined {
  const at = document.activeElement;
  if (!(at instanceof HTMLButtonElement && at.matches(':focus-visible'))) return undefined;
  const rows = at.closest('ul, tbody, main');
  const buttons = () => (rows?.isConnected === true ? [...rows.querySelectorAll('button')] : []);
  const index = buttons().indexOf(at);
  // In a moment: the row goes and comes after the button.
  return (back) =>
    setTimeout(() => {
      // The title of the page that came in its place may have the focus.
      if (document.activeElement?.matches('body, h1') !== true) return;
      const there = buttons();
      (back ?? there[Math.min(index, there.length - 1)] ?? document.getElementById('content'))?.focus();
    });
}
