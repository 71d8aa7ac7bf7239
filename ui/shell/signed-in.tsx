/**
 * Shows the places to whoever is signed in, and the page to sign in to everybody else. A development server on this machine
 * asks nobody. Who lacks a second factor where one is required sets it up first. Where any request is answered with 401, the
 * session has ended: it is asked for again over the page, which the same person then finds as it was.
 */
import { focusManager, useQuery, useQueryClient } from '@tanstack/react-query';
import {
  Fragment,
  lazy,
  type ReactNode,
  Suspense,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
} from 'react';
import { asksAgainAfterMs, onUnauthorized } from '../api/call.ts';
import { isSignedOut, lookForSession, SESSION } from '../api/session.ts';
import { OfflineBanner } from '../components/offline-banner.tsx';
import { NotYet } from '../components/page.tsx';
import { dropUndoables } from '../components/undoable.ts';
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
  const isOut = isBack || isSignedOut(session.error);
  useEffect(
    () =>
      onUnauthorized(() => {
        // What was known of the session stays: by it the page knows whose it is.
        if (!isSignedOut(queries.getQueryState(SESSION.queryKey)?.error ?? null))
          void queries.invalidateQueries({ queryKey: SESSION.queryKey }, { cancelRefetch: false });
      }),
    [queries],
  );
  useEffect(() => {
    const onVisibility = (): void => {
      if (document.visibilityState === 'visible') void lookForSession(queries);
    };
    addEventListener('visibilitychange', onVisibility);
    return () => removeEventListener('visibilitychange', onVisibility);
  }, [queries]);
  const person = session.data?.Person?.PersonID;
  // What one person removed is not removed by the next.
  useEffect(() => (person === undefined ? undefined : dropUndoables), [person]);
  // Nobody is there who could be answered.
  useEffect(() => {
    focusManager.setFocused(isOut ? false : undefined);
    return () => focusManager.setFocused(undefined);
  }, [isOut]);
  // The page itself may come from a server that does not answer, or from a proxy before it.
  if (session.isPending || (session.data === undefined && !isOut)) {
    const why = session.error ?? session.failureReason;
    if (why === null) return <Asking />;
    if (asksAgainAfterMs(why) > 0) return <OfflineBanner error={why} />;
    return <NotYet error={why} onAgain={() => void session.refetch()} />;
  }
  const isKept = session.data !== undefined && !isBack;
  const signIn = <SignInPage hasEnded={isKept} onSession={() => setBack(false)} />;
  if (session.data?.MustSetUpSecondFactor === true && !isOut)
    return (
      <Suspense>
        <SetUpPage />
      </Suspense>
    );
  return (
    <>
      {isKept && (
        <Fragment key={person}>
          {children}
          <Proof />
        </Fragment>
      )}
      {isOut && <Suspense>{isKept ? <Cover>{signIn}</Cover> : signIn}</Suspense>}
    </>
  );
}

/** The answer mostly comes before anybody sees this. */
function Asking() {
  return (
    <p role="status" className="appears-late grid h-full place-content-center text-soft">
      Waiting for the server…
    </p>
  );
}

/** Over everything, open dialogs too, until it is taken away. */
function Cover({ children }: { children: ReactNode }) {
  const box = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const element = box.current;
    element?.showModal();
    return () => element?.close();
  }, []);
  return (
    <dialog
      ref={box}
      aria-label="Sign in"
      // A browser may close all dialogs by one key, those below too.
      onKeyDown={(event) => event.key === 'Escape' && event.preventDefault()}
      onCancel={(event) => event.preventDefault()}
      onClose={(event) => event.currentTarget.showModal()}
      className="covers-all h-full max-h-none w-full max-w-none bg-surface"
    >
      {children}
    </dialog>
  );
}
