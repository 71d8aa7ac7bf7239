/** Who is signed in, and what one does with one's sessions. The cookie that proves a session is the browser's affair. */
import { type QueryClient, queryOptions } from '@tanstack/react-query';
import type {
  IdentityProvider,
  IdentityProviderAddress,
  RecoveryCodes,
  Session,
  SessionList,
  SwitchOffTotpRequest,
  SwitchOnTotpRequest,
  TotpSecret,
} from '../../src/client/api-types.ts';
import { ApiError, call, open } from './call.ts';

/** Refused with 401 where nobody is signed in. */
export const SESSION = queryOptions({
  queryKey: ['session'],
  async queryFn({ signal, client }) {
    const session = await call<Session>('GET', '/session', { signal });
    forgetOthers(client, session);
    return session;
  },
  staleTime: Number.POSITIVE_INFINITY,
});

/** Shows the page to whoever has this session now. */
export function takeSession(queries: QueryClient, session: Session): void {
  forgetOthers(queries, session);
  queries.setQueryData(SESSION.queryKey, session);
}

/** Another tab of the browser may have begun a session, or ended it and begun one of somebody else. */
export async function lookForSession(queries: QueryClient): Promise<void> {
  const before = queries.getQueryState(SESSION.queryKey)?.error ?? null;
  const session = await call<Session>('GET', '/session').catch(() => null);
  if (session === null) return;
  takeSession(queries, session);
  if (isSignedOut(before)) await queries.invalidateQueries();
}

export const SESSIONS = queryOptions({
  queryKey: ['sessions'],
  queryFn: ({ signal }) => call<SessionList>('GET', '/session/all', { signal }),
  staleTime: 0,
});

/** `code` of the second factor, undefined = none is given. */
export function signIn(email: string, password: string, code?: string): Promise<Session> {
  return call('POST', '/session', { body: { Email: email, Password: password, Code: code } });
}

/** By whom one signs in beside the password. */
export const PROVIDER = queryOptions({
  queryKey: ['session', 'provider'],
  queryFn: ({ signal }) => call<IdentityProvider>('GET', '/session/provider', { signal }),
  staleTime: Number.POSITIVE_INFINITY,
});

/** Where the browser signs in by the identity provider; `again` also where that knows the browser. */
export async function goToProvider(again: boolean): Promise<string> {
  return (await call<IdentityProviderAddress>('POST', '/session/provider', { body: { Again: again } })).URL;
}

/** `query`: of the address that the provider sent the browser back to. */
export function signInByProvider(query: string): Promise<Session> {
  return call('PUT', '/session/provider', { body: { Query: query } });
}

/** `code` of the second factor, undefined = the person has none. */
export async function proveSession(password: string, code?: string): Promise<void> {
  await open('POST', '/session/proof', { body: { Password: password, Code: code } });
}

/** The password was right, and the code of the second factor is missing. */
export function isCodeRequired(error: unknown): boolean {
  return error instanceof ApiError && error.code.endsWith('/code-required');
}

export function makeTotpSecret(): Promise<TotpSecret> {
  return call('POST', '/session/totp');
}

export function switchOnTotp(given: SwitchOnTotpRequest): Promise<RecoveryCodes> {
  return call('PUT', '/session/totp', { body: given });
}

export async function switchOffTotp(given: SwitchOffTotpRequest): Promise<void> {
  await open('POST', '/session/totp/off', { body: given });
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

/** Of a page that was shown to somebody else. */
function forgetOthers(queries: QueryClient, { Person }: Session): void {
  const before = queries.getQueryData<Session>(SESSION.queryKey);
  if (before?.Person?.PersonID !== Person?.PersonID) forgetAnswers(queries);
}

/** Somebody has to sign in before this is answered. */
export function isSignedOut(error: unknown): boolean {
  return error instanceof ApiError && error.status === 401;
}
