/** Whether the person who looks may call the operation that helps: who may only look is offered no button. Pure. */
import type { AttentionAction, Me } from '../../../src/client/api-types.ts';
import { mayDo } from '../../api/me.ts';

/** What each needs: its path, a scope, and the operation by which it may be granted alone. */
const NEEDS = [
  [/^\/domains\/[^/]+\/verify$/, 'domains:write', 'verifyDomain'],
  [/^\/webhooks\/[^/]+\/test$/, 'webhooks:write', 'testWebhook'],
  [/^\/webhooks\/[^/]+$/, 'webhooks:write', 'updateWebhook'],
  [/^\/queue\/paths\/[^/]+\/try$/, 'admin', 'tryPath'],
  [/^\/queue\/release$/, 'admin', 'releaseQueue'],
  [/^\/doctor$/, 'admin', 'runDoctor'],
] as const;

/** What is not known here needs everything. */
export function mayAct(me: Me | undefined, { Path }: Pick<AttentionAction, 'Path'>): boolean {
  const [, scope = 'admin', operation] = NEEDS.find(([path]) => path.test(Path)) ?? [];
  return mayDo(me, scope, operation);
}
