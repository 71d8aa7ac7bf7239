/**
 * GET /attention: what is wrong now and what to do about it, from facts that the program has already; nobody outside is
 * asked. A token of some domains is told of those; of the server and of delivery, which are everybody's, only tokens
 * of all domains. Their answer is shared for two seconds, so that many who look cost little.
 */
import type { Clock } from '../../../lib/clock.ts';
import { callerDomains, hasScope } from '../../../policy/access/access.ts';
import { operation } from '../operation.ts';
import type { ApiRoute } from '../route.ts';
import { type AttentionAnswer, attentionAnswer } from './attention-answer.ts';
import { type AttentionDeps, gatherAttention } from './attention-items.ts';

const SHARED_MS = 2_000;

/** The one operation. */
export function attentionOperation(deps: AttentionDeps & { clock: Clock }): ApiRoute {
  let shared: { at: number; answer: Promise<AttentionAnswer> } | null = null;
  return operation({
    id: 'getAttention',
    method: 'GET',
    path: '/attention',
    scope: 'stats:read',
    limitedTokens: true,
    summary: 'List what needs attention',
    description:
      'What is wrong now, the worst first: `{Items: [{Kind, Severity, Subject, Message, Fix, Since, Until, Waiting, Action, Command}], More, Waiting, Complete, ExaminedAt}`. Sender domains whose checks fail (with `domains:read`) and webhooks that fail (`webhooks:read`), of the token’s domains; for tokens of all domains also sites that take no mail, relays, holds, warm-ups, and this server: database, disk, clock, certificates. `Action` is the operation that helps. Nothing is looked up: `GET /doctor` does that',
    answer: attentionAnswer,
    handle: ({ caller, visible }) => {
      const view = {
        ...visible,
        mayDomains: hasScope(caller, 'domains:read'),
        mayWebhooks: hasScope(caller, 'webhooks:read'),
        isOperator: callerDomains(caller) === undefined,
      };
      if (!(view.isOperator && view.mayDomains && view.mayWebhooks)) return gatherAttention(deps, view);
      const now = deps.clock.monotonicMs();
      if (shared === null || now - shared.at >= SHARED_MS) {
        const answer = gatherAttention(deps, view);
        shared = { at: now, answer };
        // The next one asks anew.
        answer.catch(() => {
          shared = null;
        });
      }
      return shared.answer;
    },
  });
}
