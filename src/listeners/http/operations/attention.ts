/**
 * GET /attention: current problems and how to fix them, from facts that the program already has; no other machine is
 * contacted. A token for some domains gets the problems of these; only tokens for all domains get those of the server
 * and of delivery.
 */
import { callerDomains, hasScope } from '../../../policy/access/rights.ts';
import { createCallRate } from '../call-rate.ts';
import { operation } from '../operation.ts';
import type { ApiRoute } from '../route.ts';
import { attentionAnswer } from './attention-answer.ts';
import { type AttentionDeps, gatherAttention } from './attention-items.ts';

const CALLS_PER_SECOND = 5;

export function attentionOperation(deps: AttentionDeps): ApiRoute {
  const takeCall = createCallRate(deps.clock, { perSecond: CALLS_PER_SECOND, what: 'what needs attention' });
  return operation('GET /attention', {
    id: 'getAttention',
    scope: 'stats:read',
    summary: 'List what needs attention',
    description:
      'What is wrong now, the worst first: `{Items: [{Kind, Severity, Subject, Message, Fix, Since, Until, Waiting, Action, Command}], More, Waiting, Complete, ExaminedAt}`. Sender domains whose checks fail (with `domains:read`) and webhooks that fail (`webhooks:read`), of the token’s domains; for tokens of all domains also sites that take no mail, relays, holds, warm-ups, and this server: database, disk, clock, certificates. `Action` is the operation that helps. Nothing is looked up: `GET /doctor` does that. At most 5 requests a second for each token, after a pause 20 at once',
    answer: attentionAnswer,
    handle: ({ caller, visible }) => {
      takeCall(caller);
      return gatherAttention(deps, {
        ...visible,
        mayDomains: hasScope(caller, 'domains:read'),
        mayWebhooks: hasScope(caller, 'webhooks:read'),
        isOperator: callerDomains(caller) === undefined,
      });
    },
  });
}
