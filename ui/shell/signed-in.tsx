/**
 * Shows the places to whoever is signed in, and the page to sign in to everybody else. A development server on this machine
 * asks nobody. Who lacks a second factor where one is required sets it up first. Where any request is answered with 401, the session has ended: it is asked for again.
 */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { lazy, type ReactNode, Suspense, useEffect, useState } from 'react';
import { onUnauthorized } from '../api/call.ts';
import { isSignedOut, SESSION } from '../api/session.ts';
import { OfflineBanner } from '../components/offline-banner.tsx';
import { isBackFromProvider } from '../places/sign-in/provider-address.ts';
import { Proof } from './proof.tsx';

const SetUpPage = lazy(async () => ({
  default: (await import('../places/sign-in/second-factor-dialog.tsx')).SetUpPage,
}));
const SignInPage = lazy(() => import('../places/sign-in/sign-in-page.tsx'));

export function SignedIn({ children }: { children: ReactNode }) {
  const queries = useQueryClient();
  const session = useQuery(SESSION);
  /** Who signs in again has a session, too. */
  const [isBack, setBack] = useState(isBackFromProvider);
  const [hasEnded, setEnded] = useState(false);
  useEffect(
    () =>
      onUnauthorized(() => {
        if (queries.getQueryData(SESSION.queryKey) !== undefined) {
          setEnded(true);
          void queries.resetQueries({ queryKey: SESSION.queryKey });
        }
      }),
    [queries],
  );
  // The page itself may come from a server that does not answer, or from a proxy before it.
  if (session.isPending) return session.failureReason === null ? null : <OfflineBanner />;
  const onSession = () => {
    setBack(false);
    setEnded(false);
  };
  const isOut = isBack || isSignedOut(session.error);
  if (isOut || session.data?.MustSetUpSecondFactor === true) {
    return (
      <Suspense>{isOut ? <SignInPage hasEnded={hasEnded} onSession={onSession} /> : <SetUpPage />}</Suspense>
    );
  }
  return (
    <>
      {children}
      <Proof />
    </>
  );
}
