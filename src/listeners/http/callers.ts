/**
 * Who makes a request: whoever holds its token, else the person of its session, else, on a development server, the dashboard
 * of this very server, which has neither. Given the request; leaves a `Caller`, or throws the refusal.
 */
import { AppError } from '../../lib/errors.ts';
import type { Caller } from '../../model/submission.ts';
import { requireAllDomains, requireScope } from '../../policy/access/access.ts';
import { isOwnPage } from '../../policy/access/own-page.ts';
import { cookieText, isSessionRequest } from '../../policy/access/session-page.ts';
import type { HttpDeps } from './deps.ts';
import type { ApiRoute } from './route.ts';

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
  /** Throws AppError `origin-not-allowed` unless the dashboard of this server asks. */
  requireDashboard(asking: Asking): void;
  /** Throws AppError `token-invalid` or `session-ended` where the caller has none any more. */
  requireStill(caller: Caller): Promise<void>;
}

/** Throws AppError where the caller may not call that operation, with these scopes or these domains. */
export function requireAllowed(
  caller: Caller,
  route: Pick<ApiRoute, 'id' | 'scope' | 'limitedTokens'>,
): void {
  if (caller.only?.has(route.id) === false) throw new AppError('second-factor-required');
  if (route.scope !== null && caller.operations?.has(route.id) !== true) requireScope(caller, route.scope);
  if (route.limitedTokens !== true) requireAllDomains(caller);
}

/** Who asks for what anybody may: may do nothing. */
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
      const caller = await sessions.authenticate(secret, ip);
      if (caller === null) throw new AppError('session-ended');
      return caller;
    },
    requireDashboard,
    async requireStill(caller) {
      if ((await access.renew(caller)) !== null) return;
      throw new AppError(caller.session === undefined ? 'token-invalid' : 'session-ended');
    },
  };

  function requireDashboard(asking: Asking): void {
    if (!isSessionRequest(asking, publicUrl)) throw new AppError('origin-not-allowed');
  }
}
