/** What belongs to the person who is signed in: who it is, the sessions, the password, signing out. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import {
  CircleUser,
  LockKeyhole,
  LogOut,
  type LucideIcon,
  MonitorSmartphone,
  ShieldCheck,
} from 'lucide-react';
import { lazy, type ReactNode, Suspense, useState } from 'react';
import { forgetAnswers, SESSION, signOut } from '../api/session.ts';
import { IconButton } from '../components/button.tsx';
import { Menu, type MenuEntry } from '../components/menu.tsx';
import { toast } from '../components/toasts.tsx';

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
    mutationFn: signOut,
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
      { ...named('Sessions', MonitorSmartphone), run: () => setOpened('sessions') },
      ...(person.HasPassword
        ? [
            { ...named('Change password', LockKeyhole), run: () => setOpened('password') },
            { ...named('Second factor', ShieldCheck), run: () => setOpened('secondFactor') },
          ]
        : []),
      { ...named('Sign out', LogOut, ''), run: () => leaving.mutate() },
    ],
    dialogs: Opened !== null && (
      <Suspense>
        <Opened onClose={close} />
      </Suspense>
    ),
  };
}

/** The name of an entry with its sign, as the other entries of the menu on a phone have one. */
function named(label: string, Icon: LucideIcon, more = '…'): Pick<MenuEntry, 'label' | 'name'> {
  return {
    label,
    name: (
      <>
        <Icon size={16} aria-hidden /> {label}
        {more}
      </>
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
