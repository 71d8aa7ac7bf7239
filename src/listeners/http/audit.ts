/**
 * Keeps who changed what: an entry for each request that changed something and was carried out, written before it is answered.
 * Sending mail and looking at captured mail are no such changes: their traces are events. An entry that cannot be written
 * is logged; the change it is about has happened.
 */
import type { Clock } from '../../lib/clock.ts';
import { uuidv7 } from '../../lib/ids.ts';
import type { Logger } from '../../lib/log.ts';
import type { Random } from '../../lib/random.ts';
import type { Caller } from '../../model/submission.ts';
import { lineOf } from '../../policy/access/access.ts';
import type { Store } from '../../store/store.ts';
import type { ApiAnswer, ApiRoute } from './route.ts';

/** Operations that are not GET and leave no entry. */
export const NOT_AUDITED: ReadonlySet<string> = new Set([
  ...['sendEmail', 'sendEmailBatch', 'validateEmail', 'resendEmail', 'cancelEmail'],
  ...['retryEmail', 'rescheduleEmail'],
  ...['markCaptures', 'deleteCapture', 'deleteCaptures', 'releaseCapture'],
  ...['createSandboxRule', 'deleteSandboxRule', 'deleteSandboxRules'],
  ...['renderTemplate', 'renderTexts', 'testWebhook', 'verifyDomain'],
  ...['signIn', 'goToIdentityProvider', 'signOut', 'endSession', 'makeTotpSecret'],
]);

/** Entries of one line beyond which the old ones go, and beyond which recent ones go too: many changes must not hide one. */
const MAX_PER_LINE = 20_000;
const MAX_RECENT_PER_LINE = 200_000;
const RECENT_MS = 30 * 86_400_000;
const MAX_RESOURCE_CHARS = 300;

export interface Audit {
  /** Resolves when the entry is stored, or logged as lost. */
  record(
    route: Pick<ApiRoute, 'id' | 'method' | 'path'>,
    request: { caller: Caller; params: Readonly<Record<string, string>>; ip: string },
    answer: Pick<ApiAnswer, 'status' | 'headers' | 'caller'>,
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
    async record(route, { params, ip, ...request }, answer) {
      const caller = answer.caller ?? request.caller;
      if (route.method === 'GET' || NOT_AUDITED.has(route.id) || answer.status >= 300) return;
      const entry = {
        id: uuidv7(clock, random),
        at: clock.now(),
        line: lineOf(caller),
        byPerson: caller.session !== undefined,
        whoId: caller.tokenId,
        whoName: caller.name ?? '',
        operation: route.id,
        resource: resourceOf(route.path, params, answer.headers?.location),
        ip,
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

/** What was made, else what was named. The address of a recipient is no name of a thing, and may have to be erased. */
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
