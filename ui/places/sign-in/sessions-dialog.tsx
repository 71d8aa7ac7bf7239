/** One's sessions, each with where it was begun, and a button that ends it. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { endSession, SESSIONS } from '../../api/session.ts';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { FormError } from '../../components/field.tsx';
import { Ago } from '../../components/time.tsx';

export default function SessionsDialog({ onClose }: { onClose(): void }) {
  const queries = useQueryClient();
  const sessions = useQuery(SESSIONS);
  const ending = useMutation({
    mutationFn: endSession,
    onSettled: () => queries.invalidateQueries({ queryKey: SESSIONS.queryKey }),
  });
  return (
    <Dialog title="Sessions" onClose={onClose}>
      <FormError error={sessions.error ?? ending.error} />
      <ul className="grid divide-y divide-line">
        {sessions.data?.Items.map((session) => (
          <li key={session.SessionID} className="flex items-center justify-between gap-3 py-2">
            <div className="min-w-0">
              <div>{browserOf(session.UserAgent)}</div>
              <div className="text-soft text-xs">
                {session.IP}, used <Ago at={session.LastUsedAt} />
              </div>
            </div>
            {session.Current ? (
              <span className="shrink-0 text-soft">This one</span>
            ) : (
              <Button isBusy={ending.isPending} onClick={() => ending.mutate(session.SessionID)}>
                End
              </Button>
            )}
          </li>
        ))}
      </ul>
    </Dialog>
  );
}

const BROWSERS = [
  ['Firefox', /Firefox\//],
  ['Edge', /Edg\//],
  ['Opera', /OPR\//],
  ['Chrome', /Chrom(?:e|ium)\//],
  ['Safari', /Safari\//],
] as const;
const SYSTEMS = [
  ['Android', /Android/],
  ['iPhone or iPad', /iPhone|iPad/],
  ['Windows', /Windows/],
  ['macOS', /Mac OS X/],
  ['Linux', /Linux/],
] as const;

/** A few words for a browser; the text itself where it is none that is known. */
function browserOf(userAgent: string): string {
  const browser = BROWSERS.find(([, sign]) => sign.test(userAgent))?.[0];
  const system = SYSTEMS.find(([, sign]) => sign.test(userAgent))?.[0];
  if (browser === undefined) return userAgent === '' ? 'Unknown browser' : userAgent;
  return system === undefined ? browser : `${browser} on ${system}`;
}
