/**
 * Something that cannot be taken back once the server has done it: done in ten seconds, or as the page is closed, unless it
 * is undone until then. Given the words of the message and what is to be done; tells what came of it.
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

export function undoable({ text, run, onBack, onDone }: Undoable): void {
  const go = (leaving: boolean): void => {
    end();
    run(leaving).then(onDone, (error: unknown) => {
      onBack?.();
      toast({ text: `Not done: ${messageOf(error)}` });
    });
  };
  const onLeave = () => go(true);
  const timer = setTimeout(() => go(false), UNDO_MS);
  addEventListener('pagehide', onLeave);
  const close = toast({
    text,
    standsMs: UNDO_MS,
    action: {
      name: 'Undo',
      run() {
        end();
        onBack?.();
        close();
      },
    },
  });

  function end(): void {
    clearTimeout(timer);
    removeEventListener('pagehide', onLeave);
  }
}
