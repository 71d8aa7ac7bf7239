/**
 * Recipients at the simulator domain (configuration key `simulator-domain`) get a simulated result; their mail is
 * never sent. `bounced+any-label@simulator.test` is the same as `bounced@simulator.test`.
 */
import type { SandboxResult } from '../../model/message.ts';

export const MAGIC_RECIPIENTS: Readonly<Record<string, SandboxResult>> = {
  delivered: 'deliver',
  bounced: 'bounce',
  softbounced: 'softbounce',
  deferred: 'defer',
  failed: 'fail',
  suppressed: 'suppress',
  complained: 'complain',
  opened: 'open',
  clicked: 'click',
  unsubscribed: 'unsubscribe',
  ooto: 'ooto',
};

/** The result that an address requests; an unknown local part is delivered. */
export function magicResult(address: string): SandboxResult {
  const local = address.slice(0, address.lastIndexOf('@')).toLowerCase();
  const plus = local.indexOf('+');
  const name = plus < 0 ? local : local.slice(0, plus);
  return Object.hasOwn(MAGIC_RECIPIENTS, name) ? (MAGIC_RECIPIENTS[name] ?? 'deliver') : 'deliver';
}
