/** Short messages at the foot of the page: said to screen readers, gone by themselves, perhaps with a way back. */
import { X } from 'lucide-react';
import { useSyncExternalStore } from 'react';
import { IconButton } from './button.tsx';

export interface Toast {
  text: string;
  /** A button: `Undo`; `ref` is told it as it comes, null as it goes. */
  action?: { name: string; run(): void; ref?: ((button: HTMLElement | null) => void) | undefined };
  /** How long it stands, in milliseconds; default 4,000. */
  standsMs?: number;
}

let shown: readonly (Toast & { id: number })[] = [];
let lastId = 0;
const listeners = new Set<() => void>();

/** Shows one; gives back how to take it away. */
export function toast(given: Toast): () => void {
  const id = ++lastId;
  const leave = () => change(shown.filter((one) => one.id !== id));
  change([...shown.slice(-2), { ...given, id }]);
  setTimeout(leave, given.standsMs ?? 4_000);
  return leave;
}

/** Says what went wrong. */
export function toastError(error: unknown): void {
  toast({ text: messageOf(error), standsMs: 8_000 });
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function change(next: typeof shown): void {
  shown = next;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function Toasts() {
  const toasts = useSyncExternalStore(subscribe, () => shown);
  return (
    <div
      role="status"
      className="pointer-events-none fixed inset-x-0 bottom-18 z-40 min-[44rem]:bottom-4 grid justify-items-center gap-2 print:hidden px-4"
    >
      {toasts.map(({ id, text, action }) => (
        <div
          key={id}
          className="pointer-events-auto flex max-w-full items-center gap-2 rounded-lg bg-ink py-1 pr-1 pl-4 text-page"
        >
          <span>{text}</span>
          {action !== undefined && (
            <button
              type="button"
              ref={action.ref}
              onClick={action.run}
              className="min-h-8 rounded-md px-2 font-semibold underline underline-offset-2"
            >
              {action.name}
            </button>
          )}
          <IconButton
            label="Close"
            tone="text-page"
            onClick={() => change(shown.filter((one) => one.id !== id))}
          >
            <X size={14} aria-hidden />
          </IconButton>
        </div>
      ))}
    </div>
  );
}
