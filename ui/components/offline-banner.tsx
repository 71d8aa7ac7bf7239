/** Said while the server does not answer; the list heals by itself. */
import { CloudOff } from 'lucide-react';

export function OfflineBanner() {
  return (
    <p role="alert" className="flex items-center justify-center gap-2 bg-warn-fill px-4 py-1.5 text-warn">
      <CloudOff size={16} aria-hidden />
      The server does not answer. This page goes on by itself when it does.
    </p>
  );
}
