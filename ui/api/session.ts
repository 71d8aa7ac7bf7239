/** Who is signed in, and what one does with one's sessions. The cookie that proves a session is the browser's affair. */
import { type QueryClient, queryOptions } from '@tanstack/react-query';
import type { Session, SessionList } from '../../src/client/api-types.ts';
import { ApiError, call, open } from './call.ts';

/** Refused with 401 where nobody is signed in. */
export const SESSION = queryOptions({
  queryKey: ['session'],
  queryFn: ({ signal }) => call<Session>('GET', '/session', { signal }),
  staleTime: Number.POSITIVE_INFINITY,
});

export const SESSIONS = queryOptions({
  queryKey: ['sessions'],
  queryFn: ({ signal }) => call<SessionList>('GET', '/session/all', { signal }),
  staleTime: 0,
});

export function signIn(email: string, password: string): Promise<Session> {
  return call('POST', '/session', { body: { Email: email, Password: password } });
}

/** Also where the session has ended already. */
export async function signOut(): Promise<void> {
  await open('DELETE', '/session').catch((error: unknown) => {
    if (!isSignedOut(error)) throw error;
  });
}

export async function endSession(id: string): Promise<void> {
  await open('DELETE', `/session/all/${encodeURIComponent(id)}`);
}

export async function changePassword(current: string, next: string): Promise<void> {
  await open('PUT', '/session/password', { body: { Password: current, NewPassword: next } });
}

/** What was shown to one person is not shown to the next. The session itself stays: the shell looks at it. */
export function forgetAnswers(queries: QueryClient): void {
  queries.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== SESSION.queryKey[0] });
}

/** Somebody has to sign in before this is answered. */
export function isSignedOut(error: unknown): boolean {
  return error instanceof ApiError && error.status === 401;
}
