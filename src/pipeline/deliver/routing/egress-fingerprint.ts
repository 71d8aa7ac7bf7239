/** Tells one way from another one of the same name: what was learned by one login or address says nothing of the next. */
import { createHash } from 'node:crypto';
import type { SmtpEgress } from './connector.ts';

/**
 * The same for the same source address, EHLO name, targets and logins. It is stored, so of a password it holds 16 bits:
 * enough to notice that it has changed, and nothing to try guesses against.
 */
export function egressFingerprint({ source, targets }: SmtpEgress): string {
  const facts = targets.map((target) => {
    if (target.kind === 'mx') return 'mx';
    const { host, port, implicitTls, auth } = target;
    const login = auth === null ? null : [auth.user, digest(auth.password).slice(0, 4)];
    return [host, port, implicitTls, login];
  });
  return digest(JSON.stringify([source.address, source.heloName, facts])).slice(0, 16);
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
