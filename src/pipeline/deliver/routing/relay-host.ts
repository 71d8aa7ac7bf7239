/** Connections to a configured relay, for delivery and the doctor: its addresses, and its TLS requirement. */

import { isIP } from 'node:net';
import { isLoopbackAddress } from '../../../lib/loopback.ts';
import type { Route } from '../../../model/route.ts';
import type { Resolver } from '../../../net/dns-types.ts';
import type { TlsMode } from '../../../smtp/client-tls.ts';

type Relay = Extract<Route, { kind: 'relay' }>;

/**
 * The relay's addresses, or why it has none; `local`: this machine could not ask. The operator configured it, so a missing name is temporary: the mistake
 * will be corrected.
 */
export async function relayAddresses(
  resolver: Pick<Resolver, 'a' | 'aaaa'>,
  host: string,
): Promise<{ kind: 'addresses'; addresses: readonly string[] } | { kind: 'none' | 'local'; why: string }> {
  if (isIP(host) !== 0) return { kind: 'addresses', addresses: [host] };
  if (host === 'localhost') return { kind: 'addresses', addresses: ['127.0.0.1', '::1'] };
  const [v4, v6] = await Promise.all([resolver.a(host), resolver.aaaa(host)]);
  const addresses = [v4, v6].flatMap((answer) => (answer.kind === 'found' ? answer.records : []));
  if (addresses.length > 0) return { kind: 'addresses', addresses };
  const failure = [v4, v6].find((answer) => answer.kind === 'failure');
  if (failure?.kind === 'failure')
    return failure.reason === 'local'
      ? { kind: 'local', why: failure.detail }
      : { kind: 'none', why: `DNS gives no usable answer: ${failure.detail}` };
  const exists = [v4, v6].some((answer) => answer.kind !== 'no-name');
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
