/**
 * Who makes a request: the holder of its token, otherwise the person of its session, otherwise, on a development
 * server, the dashboard of this server without either. Takes the request; returns a `Caller`, or throws the refusal.
 */
import { AppError } from '../../lib/errors.ts';
import type { Caller } from '../../model/submission.ts';
import { isOwnPage, OWN_HEADER } from '../../policy/access/own-page.ts';
import { requireAllDomains, requireScope } from '../../policy/access/rights.ts';
import { cookieText, isSessionRequest } from '../../policy/access/session-page.ts';
import type { HttpDeps } from './deps.ts';
import { type ApiRoute, needsAllDomains } from './route.ts';

/** What a request says of itself. */
export interface Asking {
  method: string;
  header(name: string): string | undefined;
  /** Of the socket, whatever a header says. */
  peer: string;
  /** Forwarded addresses are resolved. */
  ip: string;
}

export interface Callers {
  /** Throws AppError `token-missing`, `token-invalid`, `session-ended`, `origin-not-allowed` and the like. */
  callerOf(asking: Asking): Promise<Caller>;
  /** Throws AppError `origin-not-allowed` unless the request comes from the dashboard of this server. */
  requireDashboard(asking: Asking): void;
  /**
   * Throws AppError if the caller may not call that operation: because of its scopes or domains, or because a person
   * last authenticated too long ago.
   */
  requireAllowed(caller: Caller, route: Permission): Promise<void>;
  /** Throws AppError `proof-required` if a person last authenticated too long ago; tokens are not asked. */
  requireProof(caller: Caller): Promise<void>;
  /** Throws AppError `token-invalid` or `session-ended` if the token or session has ended. */
  requireStill(caller: Caller): Promise<void>;
}

/** What an operation requires of its caller. */
type Permission = Pick<ApiRoute, 'id' | 'scope' | 'limitedTokens' | 'proven'>;

function requireRights(caller: Caller, route: Permission): void {
  if (caller.only?.has(route.id) === false) throw new AppError('second-factor-required');
  if (route.scope !== null && caller.operations?.has(route.id) !== true) requireScope(caller, route.scope);
  if (needsAllDomains(route)) requireAllDomains(caller);
}

/** The caller of operations that are open to everybody: it has no rights. */
export const NOBODY: Caller = {
  ...{ tokenId: '', owner: '', domains: [], scopes: new Set<string>(), sandbox: false, rateLimit: null },
};

/** `publicUrl` as configured, undefined = none. */
export function createCallers(
  { access, sessions, ownPage }: Pick<HttpDeps, 'access' | 'sessions' | 'ownPage'>,
  publicUrl: string | undefined,
): Callers {
  return {
    async callerOf(asking) {
      const { header, ip } = asking;
      const authorization = header('authorization');
      if (authorization !== undefined) return access.authenticate(authorization, ip);
      if (ownPage !== undefined && isOwnPage(asking)) return ownPage();
      const secret = cookieText('session', asking);
      if (secret === null) return access.authenticate(undefined, ip);
      requireDashboard(asking);
      const caller = await sessions.authenticate(secret, ip, header(OWN_HEADER) !== 'idle');
      if (caller === null) throw new AppError('session-ended');
      return caller;
    },
    requireDashboard,
    async requireAllowed(caller, route) {
      requireRights(caller, route);
      if (route.proven === true) await sessions.requireProof(caller);
    },
    requireProof: (caller) => sessions.requireProof(caller),
    async requireStill(caller) {
      if ((await access.renew(caller)) !== null) return;
      throw new AppError(caller.session === undefined ? 'token-invalid' : 'session-ended');
    },
  };

  function requireDashboard(asking: Asking): void {
    if (isSessionRequest(asking, publicUrl)) return;
    const host = asking.header('host') ?? '';
    const isPage = asking.header(OWN_HEADER) !== undefined;
    // A page of another site has another origin; with GET a page sends none.
    if (!isPage || !(asking.header('origin') ?? `//${host}`).endsWith(`//${host}`))
      throw new AppError('origin-not-allowed');
    const isPublic = publicUrl?.startsWith('https://') === true;
    const where = isPublic ? `at ${new URL(publicUrl).origin}` : 'over https';
    const how = isPublic
      ? 'a proxy has to pass on the Host header'
      : 'set http-certificate, or public-url to the https:// address of a proxy, or use a tunnel';
    throw new AppError('origin-not-allowed', {
      message: `The dashboard can be used ${where} and on the machine of the server, not at this address: ${how}`,
    });
  }
}
