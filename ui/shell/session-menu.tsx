/** What belongs to the person who is signed in: who it is, the sessions, the password, signing out. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { CircleUser, LockKeyhole, LogOut, MonitorSmartphone, ShieldCheck } from 'lucide-react';
import { lazy, type ReactNode, useState } from 'react';
import { forgetAnswers, SESSION, signOut } from '../api/session.ts';
import { IconButton } from '../components/button.tsx';
import { Menu, type MenuEntry } from '../components/menu.tsx';
import { LazyPart } from '../components/missing.tsx';
import { toast } from '../components/toasts.tsx';
import { doUndoables } from '../components/undoable.ts';

const SessionsDialog = lazy(() => import('../places/sign-in/sessions-dialog.tsx'));
const SecondFactorDialog = lazy(() => import('../places/sign-in/second-factor-dialog.tsx'));
const PasswordDialog = lazy(() => import('../places/sign-in/password-dialog.tsx'));

const DIALOGS = { sessions: SessionsDialog, password: PasswordDialog, secondFactor: SecondFactorDialog };

/** Entries of a menu, and the dialogs that they open; no entries where nobody has signed in (a development server). */
export function useSessionMenu(): {
  email: string | null;
  entries: readonly MenuEntry[];
  dialogs: ReactNode;
} {
  const queries = useQueryClient();
  const [opened, setOpened] = useState<keyof typeof DIALOGS | null>(null);
  const person = useQuery(SESSION).data?.Person ?? null;
  const leaving = useMutation({
    mutationFn: () => doUndoables().then(signOut),
    onSuccess: () => {
      forgetAnswers(queries);
      void queries.resetQueries({ queryKey: SESSION.queryKey });
    },
    onError: (error) => toast({ text: error.message }),
  });
  if (person === null) return { email: null, entries: [], dialogs: null };
  const close = (): void => setOpened(null);
  const Opened = opened === null ? null : DIALOGS[opened];
  return {
    email: person.Email,
    entries: [
      { icon: MonitorSmartphone, name: 'Sessions…', run: () => setOpened('sessions') },
      ...(person.HasPassword
        ? [
            { icon: LockKeyhole, name: 'Change password…', run: () => setOpened('password') },
            { icon: ShieldCheck, name: 'Second factor…', run: () => setOpened('secondFactor') },
          ]
        : []),
      { icon: LogOut, name: 'Sign out', run: () => leaving.mutate() },
    ],
    dialogs: Opened !== null && (
      <LazyPart onClose={close}>
        <Opened onClose={close} />
      </LazyPart>
    ),
  };
}

/** A button with the menu, for the foot of the rail. */
export function SessionMenu() {
  const { email, entries, dialogs } = useSessionMenu();
  if (email === null) return null;
  return (
    <>
      <Menu
        align="start"
        trigger={
          <IconButton label={`Signed in as ${email}`}>
            <CircleUser size={16} aria-hidden />
          </IconButton>
        }
        entries={[{ name: email, run: () => undefined, disabled: true }, ...entries]}
      />
      {dialogs}
    </>
  );
}
