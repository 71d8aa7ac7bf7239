/** Said while the server does not answer, or cannot do now what it is asked for: what is shown may be old, and heals by itself. */
import { CloudOff } from 'lucide-react';
import { asksAgainAfterMs, Unreachable } from '../api/call.ts';

/** `error`: of the last request; nothing is said where asking again does not help. */
export function OfflineBanner({ error }: { error: unknown }) {
  if (asksAgainAfterMs(error) === 0) return null;
  return (
    <p role="alert" className="flex items-center justify-center gap-2 bg-warn-fill px-4 py-1.5 text-warn">
      <CloudOff size={16} aria-hidden className="shrink-0" />
      {error instanceof Unreachable
        ? 'The server does not answer. This page goes on by itself when it does.'
        : 'The server cannot answer now. What is shown may be old; this page asks again by itself.'}
    </p>
  );
}
