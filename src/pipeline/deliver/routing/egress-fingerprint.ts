/**
 * A fingerprint of a route: what was observed with one login or address does not apply to another, even under the same
 * name.
 */
import { createHash } from 'node:crypto';
import type { SmtpEgress } from './connector.ts';

/**
 * Equal for the same source addresses, EHLO name, targets and logins. It is stored, so it contains only 16 bits of a
 * password: enough to notice a change, and too little to test guesses.
 */
export function egressFingerprint({ source, targets }: SmtpEgress): string {
  const facts = targets.map((target) => {
    if (target.kind === 'mx') return 'mx';
    const { host, port, implicitTls, auth } = target;
    const login = auth === null ? null : [auth.user, digest(auth.password).slice(0, 4)];
    return [host, port, implicitTls, login];
  });
  const { address, ipv6, heloName } = source;
  return digest(JSON.stringify([address, heloName, facts, ...(ipv6 === null ? [] : [ipv6])])).slice(0, 16);
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
