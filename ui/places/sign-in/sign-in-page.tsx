/** The page to sign in, at every address while nobody is signed in; afterwards that address shows what it names. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import type { Session } from '../../../src/client/api-types.ts';
import { isForbidden } from '../../api/call.ts';
import { forgetAnswers, isCodeRequired, PROVIDER, SESSION, signIn, takeSession } from '../../api/session.ts';
import { Button } from '../../components/button.tsx';
import { Field, FormError } from '../../components/field.tsx';
import { useTitleMeanwhile } from '../../components/page-title.ts';
import { Mark } from '../../shell/mark.tsx';
import { ByProvider } from './by-provider.tsx';
import { CodeField } from './proof-fields.tsx';

/** `hasEnded`: a session ended while the page was open, which is still there. `onSession`: called when somebody has signed in. */
export default function SignInPage({ hasEnded, onSession }: { hasEnded: boolean; onSession(): void }) {
  const queries = useQueryClient();
  useTitleMeanwhile('Sign in');
  /** At an address where a password is not taken, none is asked for. */
  const { error: refused } = useQuery(PROVIDER);
  /** Mostly the same person signs in again. */
  const [known] = useState(() =>
    hasEnded ? queries.getQueryData(SESSION.queryKey)?.Person?.Email : undefined,
  );
  const [email, setEmail] = useState(known ?? '');
  const [password, setPassword] = useState('');
  /** null = no code is asked for. */
  const [code, setCode] = useState<string | null>(null);
  const signing = useMutation({
    mutationFn: () => signIn(email, password, code ?? undefined),
    onSuccess: show,
    onError: (error) => {
      if (isCodeRequired(error) || code !== null) setCode('');
      else setPassword('');
    },
  });
  function show(session: Session): void {
    if (!hasEnded) forgetAnswers(queries);
    takeSession(queries, session);
    onSession();
    void queries.invalidateQueries();
  }
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    signing.mutate();
  };
  const head = (
    <div className="flex items-center gap-3">
      <Mark />
      <h1 className="font-semibold text-lg">Sign in to postrider</h1>
    </div>
  );
  return (
    <main className="grid h-full place-content-center overflow-y-auto p-4">
      {isForbidden(refused) ? (
        <div className="grid w-80 max-w-full gap-4">
          {head}
          <FormError error={refused} />
        </div>
      ) : (
        <form onSubmit={submit} className="grid w-80 max-w-full gap-4">
          {head}
          {hasEnded && (
            <p role="status">
              Your session has ended. Sign in with your password to go on where you were, with what you have
              typed.
            </p>
          )}
          <FormError error={isCodeRequired(signing.error) ? null : signing.error} />
          <Field
            label="Email address"
            type="email"
            name="email"
            autoComplete="username"
            required
            autoFocus={known === undefined}
            value={email}
            onChange={(event) => {
              setEmail(event.target.value);
              setCode(null);
            }}
          />
          <Field
            label="Password"
            type="password"
            name="password"
            autoComplete="current-password"
            required
            // React does not set this attribute. A dialog focuses the element that has it.
            ref={(input) => void (known !== undefined && input?.setAttribute('autofocus', ''))}
            value={password}
            onChange={(event) => setPassword(event.target.value)}
          />
          {code !== null && <CodeField name="code" autoFocus value={code} onValue={setCode} />}
          <Button type="submit" look="main" isBusy={signing.isPending} className="justify-center">
            {signing.isPending ? 'Signing in…' : 'Sign in'}
          </Button>
          <ByProvider onSession={show} />
          <p className="text-soft text-xs">
            An operator adds people with <code className="font-mono">postrider user add</code>. Programs use
            the{' '}
            <a href="/api/v1/docs" className="text-accent underline">
              API
            </a>{' '}
            with a token.
          </p>
        </form>
      )}
    </main>
  );
}
