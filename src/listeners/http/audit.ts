/**
 * Records who changed what: one entry for each successful request that changed something, written before the answer.
 * Sending mail and reading captured mail are not recorded here, because they leave events. If an entry cannot be
 * written, this is logged; the change itself has happened.
 */
import type { Clock } from '../../lib/clock.ts';
import { uuidv7 } from '../../lib/ids.ts';
import type { Logger } from '../../lib/log.ts';
import type { Random } from '../../lib/random.ts';
import type { Caller } from '../../model/submission.ts';
import { lineOf } from '../../policy/access/rights.ts';
import type { Store } from '../../store/store.ts';
import type { ApiAnswer, ApiRoute } from './route.ts';

/** Operations that are not GET and leave no entry. */
export const NOT_AUDITED: ReadonlySet<string> = new Set([
  ...['sendEmail', 'sendEmailBatch', 'validateEmail', 'resendEmail', 'cancelEmail'],
  ...['retryEmail', 'rescheduleEmail'],
  ...['markCaptures', 'deleteCapture', 'deleteCaptures', 'releaseCapture'],
  ...['createSandboxRule', 'deleteSandboxRule', 'deleteSandboxRules'],
  ...['renderTemplate', 'renderTexts', 'testWebhook', 'verifyDomain'],
  ...['signIn', 'goToIdentityProvider', 'signOut', 'endSession', 'makeTotpSecret', 'proveSession'],
]);

/**
 * Above the first number of entries for one line, old ones are removed; above the second, recent ones too, so that
 * very many changes cannot fill the list.
 */
const MAX_PER_LINE = 20_000;
const MAX_RECENT_PER_LINE = 200_000;
const RECENT_MS = 30 * 86_400_000;
const MAX_RESOURCE_CHARS = 300;

export interface Audit {
  /** Resolves when the entry is stored, or its loss is logged. */
  record(
    route: Pick<ApiRoute, 'id' | 'method' | 'path'>,
    request: { caller: Caller; params: Readonly<Record<string, string>>; ip: string },
    answer: Pick<ApiAnswer, 'status' | 'headers' | 'caller' | 'changed'>,
  ): Promise<void>;
}

export function createAudit(deps: {
  store: Pick<Store, 'addAudit'>;
  clock: Clock;
  random: Random;
  log: Logger;
}): Audit {
  const { store, clock, random, log } = deps;
  return {
    async record(route, request, answer) {
      if (route.method === 'GET' || NOT_AUDITED.has(route.id) || answer.status >= 300) return;
      const caller = answer.caller ?? request.caller;
      const entry = {
        id: uuidv7(clock, random),
        at: clock.now(),
        line: lineOf(caller),
        byPerson: caller.session !== undefined,
        whoId: caller.tokenId,
        whoName: caller.name ?? '',
        operation: route.id,
        resource: resourceOf(route.path, request.params, answer.headers?.location?.toString()),
        changed: answer.changed ?? [],
        ip: request.ip,
      };
      const room = {
        maxPerLine: MAX_PER_LINE,
        maxRecentPerLine: MAX_RECENT_PER_LINE,
        recentSince: entry.at - RECENT_MS,
      };
      await store.addAudit({ entry, ...room }).catch((err: unknown) => {
        log.error({ err, ...entry }, 'a change was made, and who made it could not be stored');
      });
    },
  };
}

/**
 * The created thing, otherwise the named one. Addresses of recipients are not recorded, because they may have to be
 * erased.
 */
function resourceOf(
  path: string,
  params: Readonly<Record<string, string>>,
  location: string | undefined,
): string {
  const named =
    location?.replace(/^\/api\/v1/, '') ??
    path.replace(/\/:email/, '').replace(/:(\w+)/g, (_, name) => params[name] ?? '');
  return named.slice(1, MAX_RESOURCE_CHARS);
}
