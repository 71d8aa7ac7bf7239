/**
 * DNS of the simulated network: zones as objects, and periods in which some or all look-ups fail. It replaces the DNS
 * client, so the real resolver, with its cache and expired answers, is part of every run.
 */
import type { Clock } from '../lib/clock.ts';
import type { DnsClient, DnsReply } from '../net/dns-client.ts';
import type { DnsRecord } from '../net/dns-codec.ts';
import type { DnsServer } from '../net/system-resolvers.ts';

export interface Names {
  /** MX hosts of a domain, best first; null = the domain does not exist. */
  setMx(domain: string, hosts: readonly string[] | null): void;
  setAddress(host: string, address: string): void;
  /** From `fromMs` to `untilMs` (monotonic), queries for the domain, or for all (`*`), get this answer. */
  fault(domain: string, kind: 'servfail' | 'nxdomain', fromMs: number, untilMs: number): void;
  /** The DNS client of one process, which answers by that process's clock. */
  client(clock: Clock): DnsClient;
}

const ANSWER_MS = 3;
const SERVER: DnsServer = { address: '127.0.0.1', port: 53 };

/** `ttlSeconds`: of every answer. */
export function createNames(worldClock: Clock, ttlSeconds = 300): Names {
  const mx = new Map<string, readonly string[] | null>();
  const addresses = new Map<string, string>();
  const faults: { domain: string; kind: 'servfail' | 'nxdomain'; fromMs: number; untilMs: number }[] = [];

  return {
    setMx: (domain, hosts) => void mx.set(domain, hosts),
    setAddress: (host, address) => void addresses.set(host, address),
    fault: (domain, kind, fromMs, untilMs) => void faults.push({ domain, kind, fromMs, untilMs }),
    client(clock) {
      let closed = false;
      return {
        query: (name, type, _asker, mayAsk = () => true) =>
          new Promise((resolve) => {
            clock.setTimer(ANSWER_MS, () => {
              if (closed) resolve(failed('the resolver is closed'));
              else resolve(mayAsk(SERVER) ? reply(name, type) : failed('no server may be asked'));
            });
          }),
        askLast() {},
        close() {
          closed = true;
        },
      };
    },
  };

  function reply(name: string, type: string): DnsReply {
    const nowMs = worldClock.monotonicMs();
    const fault = faults.find(
      ({ domain, fromMs, untilMs }) =>
        (domain === '*' || domain === name || name.endsWith(`.${domain}`)) &&
        nowMs >= fromMs &&
        nowMs < untilMs,
    );
    if (fault?.kind === 'servfail') return failed('SERVFAIL');
    const hosts = mx.get(name);
    if (fault?.kind === 'nxdomain' || hosts === null) return message(name, 3, []);
    if (type === 'MX' && hosts !== undefined) {
      return message(
        name,
        0,
        hosts.map((exchange, i) => ({ ...record(name), type: 'MX', preference: 10 * (i + 1), exchange })),
      );
    }
    const address = addresses.get(name);
    if (type === 'A' && address !== undefined)
      return message(name, 0, [{ ...record(name), type: 'A', address }]);
    const isKnown = hosts !== undefined || address !== undefined || isBelow(name);
    return message(name, isKnown ? 0 : 3, []);
  }

  function record(name: string) {
    return { name, ttlSeconds };
  }

  function isBelow(name: string): boolean {
    if (!name.includes('.')) return true;
    const parent = name.slice(name.indexOf('.') + 1);
    return mx.get(parent) !== undefined && mx.get(parent) !== null;
  }
}

function failed(detail: string): DnsReply {
  return { kind: 'failure', reason: 'servfail', detail };
}

function message(name: string, responseCode: number, answers: DnsRecord[]): DnsReply {
  return {
    kind: 'message',
    server: SERVER,
    message: {
      id: 0,
      isResponse: true,
      authoritative: false,
      truncated: false,
      recursionAvailable: true,
      authenticData: false,
      responseCode,
      question: { name, typeCode: 0, classCode: 1 },
      answers,
      authority: [],
    },
  };
}
