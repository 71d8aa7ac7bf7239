/**
 * Detects that a network blocks outgoing port 25, which looks like days of time-outs. Watches the openings of direct
 * delivery: if several different sites do not answer and none ever did, it reports that once, with what to do.
 * `probePort25` tests on request with hosts that the caller names; nothing is contacted otherwise.
 */
import type { Clock } from '../../../lib/clock.ts';
import type { Logger } from '../../../lib/log.ts';
import { connectTcp } from '../../../net/sockets.ts';
import { ANY_SOURCE, type EgressSource, localAddressOf } from './routes.ts';

export interface Port25Watch {
  /** A connection to a site's own host was established: port 25 is open. */
  connected(): void;
  /** No connection was established, because nothing answered. */
  unanswered(site: string): void;
  /** What is wrong and what to do, or null. */
  suspicion(): string | null;
}

/** Number of different sites without an answer before it is reported. */
const SITES_TO_TELL = 3;
const MAX_SITES = 100;
/** An older connection says nothing about now. */
const PROOF_MS = 3_600_000;
const PROBE_MS = 10_000;

export function createPort25Watch(
  deps: { clock: Clock; log: Logger },
  options: { port: number },
): Port25Watch {
  const { clock, log } = deps;
  const silent = new Set<string>();
  let provenAtMs = Number.NEGATIVE_INFINITY;
  let told = false;

  return {
    connected() {
      provenAtMs = clock.monotonicMs();
      silent.clear();
      if (told) log.info({ port: options.port }, 'outgoing connections come about again');
      told = false;
    },
    unanswered(site) {
      if (clock.monotonicMs() - provenAtMs < PROOF_MS) return;
      if (silent.size < MAX_SITES) silent.add(site);
      if (silent.size < SITES_TO_TELL || told) return;
      told = true;
      log.warn({ port: options.port, sites: silent.size }, blockedText(options.port));
    },
    suspicion: () => (told ? blockedText(options.port) : null),
  };
}

type Port25Answer = { kind: 'open' | 'blocked' | 'unknown'; detail: string };

/**
 * Tries the given hosts in turn until one answers. `targets`: addresses, for example of a test server. `source`: what is sent
 * from; absent = the system's choice.
 */
export async function probePort25(params: {
  clock: Clock;
  targets: readonly { address: string; port: number }[];
  source?: Pick<EgressSource, 'address' | 'ipv6'>;
  timeoutMs?: number;
}): Promise<Port25Answer> {
  const { clock, targets, source, timeoutMs = PROBE_MS } = params;
  const [first] = targets;
  if (first === undefined) return { kind: 'unknown', detail: 'no host was named to try' };
  for (const { address, port } of targets) {
    const localAddress = localAddressOf(source ?? ANY_SOURCE, address);
    const result = await connectTcp({ address, port, timeoutMs, clock, localAddress });
    if (result.kind === 'connected') {
      result.socket.destroy();
      return { kind: 'open', detail: `${address}:${port} answers` };
    }
    if (result.kind === 'local') return { kind: 'unknown', detail: result.detail };
    // A refused connection is an answer too, so port 25 is open.
    if (result.kind === 'refused')
      return { kind: 'open', detail: `${address}:${port} refuses, so packets arrive` };
  }
  return { kind: 'blocked', detail: blockedText(first.port) };
}

function blockedText(port: number): string {
  return (
    `outgoing port ${port} seems blocked on this machine's network: no mail server answers. ` +
    'Send through a relay (key route, for example smtp://user:password@relay.example:587), or ask the provider to open the port'
  );
}
