/** Connections to a configured relay, for delivery and the doctor: its addresses, and its TLS requirement. */

import { isIP, isIPv6 } from 'node:net';
import { isLoopbackAddress } from '../../../lib/loopback.ts';
import type { Route } from '../../../model/route.ts';
import type { Resolver } from '../../../net/dns-types.ts';
import { BOTH_FAMILIES, type Families } from '../../../net/mx-hosts.ts';
import type { TlsMode } from '../../../smtp/client-tls.ts';

type Relay = Extract<Route, { kind: 'relay' }>;

/**
 * The relay's addresses of the families that the source has, or why it has none; `local`: this machine could not ask. The operator configured it, so a missing name is temporary: the mistake
 * will be corrected.
 */
export async function relayAddresses(
  resolver: Pick<Resolver, 'a' | 'aaaa'>,
  host: string,
  families: Families = BOTH_FAMILIES,
): Promise<{ kind: 'addresses'; addresses: readonly string[] } | { kind: 'none' | 'local'; why: string }> {
  const literal = isIP(host) !== 0 ? [host] : host === 'localhost' ? ['127.0.0.1', '::1'] : null;
  const answers = literal === null ? await Promise.all([resolver.a(host), resolver.aaaa(host)]) : [];
  const all = literal ?? answers.flatMap((answer) => (answer.kind === 'found' ? answer.records : []));
  const addresses = all.filter((address) => (isIPv6(address) ? families.ipv6 : families.ipv4));
  if (addresses.length > 0) return { kind: 'addresses', addresses };
  const failure = answers.find((answer) => answer.kind === 'failure');
  if (failure?.kind === 'failure')
    return failure.reason === 'local'
      ? { kind: 'local', why: failure.detail }
      : { kind: 'none', why: `DNS gives no usable answer: ${failure.detail}` };
  if (all.length > 0) {
    const family = families.ipv4 ? 'IPv6' : 'IPv4';
    return { kind: 'none', why: `it has ${family} addresses only, and the source has none` };
  }
  const exists = answers.some((answer) => answer.kind !== 'no-name');
  return { kind: 'none', why: exists ? 'it has no address' : 'the name does not exist in DNS' };
}

/** A login requires verified TLS, except on this machine. */
export function relayTlsMode(
  { auth, implicitTls }: Pick<Relay, 'auth' | 'implicitTls'>,
  address: string,
): TlsMode {
  // Within this machine nobody else can read a password that is sent without TLS.
  if (auth !== null && !isLoopbackAddress(address)) return 'verified';
  return implicitTls ? 'required' : 'opportunistic';
}
