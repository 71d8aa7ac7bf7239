/**
 * Shows the places to whoever is signed in, and the page to sign in to everybody else. A development server on this machine
 * asks nobody. Who lacks a second factor where one is required sets it up first. Where any request is answered with 401, the session has ended: it is asked for again.
 */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { lazy, type ReactNode, Suspense, useEffect } from 'react';
import { onUnauthorized } from '../api/call.ts';
import { isSignedOut, SESSION } from '../api/session.ts';

const SetUpPage = lazy(async () => ({
  default: (await import('../places/sign-in/second-factor-dialog.tsx')).SetUpPage,
}));
const SignInPage = lazy(() => import('../places/sign-in/sign-in-page.tsx'));

export function SignedIn({ children }: { children: ReactNode }) {
  const queries = useQueryClient();
  const session = useQuery(SESSION);
  useEffect(
    () =>
      onUnauthorized(() => {
        if (queries.getQueryData(SESSION.queryKey) !== undefined) {
          void queries.resetQueries({ queryKey: SESSION.queryKey });
        }
      }),
    [queries],
  );
  if (session.isPending) return null;
  const isOut = isSignedOut(session.error);
  if (!isOut && session.data?.MustSetUpSecondFactor !== true) return children;
  return <Suspense>{isOut ? <SignInPage /> : <SetUpPage />}</Suspense>;
}
