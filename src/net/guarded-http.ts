/**
 * HTTP calls to URLs that somebody else chose (webhooks, policies), so that they reach only what they may.
 * Given a URL, it is read, its host resolved, every address checked, and the connection made to one that passed:
 * between check and connect there is no second look-up to answer differently. It leaves an outcome as a value; the
 * whole call, look-up and a dripping answer included, ends in `timeoutMs`. Connections are kept a short while per
 * address and name; one that the other side had closed meanwhile is replaced once, so a request may be sent twice.
 */
import { networkInterfaces } from 'node:os';
import type { Clock } from '../lib/clock.ts';
import type { AddressCheck } from './address-filter.ts';
import {
  type AllowHttp,
  type CheckedUrl,
  checkUrl,
  FORBIDDEN,
  NEEDS_TLS,
  type UrlVerdict,
} from './checked-url.ts';
import type { Resolver } from './dns-types.ts';
import { createConnectionPool, type ExchangeResult, exchangeHttp, type HttpAnswer } from './http-exchange.ts';

export interface HttpCallOptions {
  headers?: Readonly<Record<string, string>>;
  /** Wall to wall. Default 15,000. */
  timeoutMs?: number;
  /** For connecting, TLS included, over all addresses tried. Default 5,000. */
  connectTimeoutMs?: number;
  /** What is read of the answer's body; the rest is not. Default 65,536. */
  maxResponseBytes?: number;
  /** Default `never`. */
  allowHttp?: AllowHttp;
  /** Ends the call early, as `aborted`. */
  signal?: AbortSignal;
}

export type HttpOutcome =
  | {
      kind: 'answered';
      /** As it came: 3xx is just a status. */
      status: number;
      /** Text up to the cap, UTF-8 with replacement. */
      body: string;
      /** The same as it came. */
      bodyBytes: Uint8Array;
      /** The answer was longer than the cap. */
      isCut: boolean;
      /** Names in lower case; `set-cookie` is left out. */
      headers: Record<string, string | undefined>;
      latencyMs: number;
      /** When the answer ended, epoch milliseconds. */
      answeredAt: number;
    }
  /**
   * The URL or every address it leads to is forbidden, or its name has none. Nothing was connected to. `cause`: which of
   * them and where it leads, for the operator alone.
   */
  | { kind: 'blocked'; detail: string; cause?: string }
  | { kind: 'failed'; reason: HttpFailureReason; detail: string };

export type HttpFailureReason = 'dns' | 'connect' | 'tls' | 'timeout' | 'reset' | 'protocol' | 'aborted';

export interface GuardedHttp {
  /** Never throws. `body` as UTF-8 where it is text. */
  post(url: string, options: HttpCallOptions & { body: Uint8Array | string }): Promise<HttpOutcome>;
  /** Never throws. */
  get(url: string, options?: HttpCallOptions): Promise<HttpOutcome>;
  /** What can be said about a URL before calling it. `allowHttp` defaults to `listed-networks`. */
  checkUrl(url: string, allowHttp?: AllowHttp): UrlVerdict;
  /** The same, and where the host leads to now. DNS without an answer refuses nothing: that may pass. */
  checkTarget(url: string, allowHttp?: AllowHttp): Promise<UrlVerdict>;
  /** Closes idle connections; calls under way end in their own time. */
  close(): void;
}

export interface GuardedHttpOptions {
  /** Ports of ours that no call may reach at an address of this machine. */
  ownPorts?: readonly number[];
  /** PEM certificates to trust instead of the built-in authorities. */
  ca?: readonly string[];
  /** Idle connections are closed after this. Default 15,000. */
  idleMs?: number;
  /** Connections at once per address and name; more wait. Default 32. */
  maxPerAddress?: number;
}

/** Addresses tried in one call, and idle connections kept in all. */
const MAX_ADDRESSES = 4;
const MAX_IDLE = 256;
/** Set here and nowhere else; a caller's own would contradict what is really sent. */
const OUR_HEADERS = new Set([
  'host',
  'content-length',
  'connection',
  'transfer-encoding',
  'upgrade',
  'expect',
]);

/** `resolver` gives addresses, `filter` says which may be connected to. */
export function createGuardedHttp(
  deps: { clock: Clock; resolver: Pick<Resolver, 'a' | 'aaaa'>; filter: AddressCheck },
  options: GuardedHttpOptions = {},
): GuardedHttp {
  const { clock, resolver, filter } = deps;
  const { ownPorts = [], ca, idleMs = 15_000, maxPerAddress = 32 } = options;
  const pool = createConnectionPool({ perAddress: maxPerAddress, idleMs, keepAlive: true, ca });

  async function call(
    method: 'GET' | 'POST',
    text: string,
    body: Uint8Array,
    wanted: HttpCallOptions,
  ): Promise<HttpOutcome> {
    const {
      timeoutMs = 15_000,
      connectTimeoutMs = 5000,
      maxResponseBytes = 65_536,
      allowHttp = 'never',
    } = wanted;
    const startedMs = clock.monotonicMs();
    const verdict = checkUrl(text, filter, allowHttp);
    if (verdict.kind === 'refused') return { kind: 'blocked', detail: verdict.detail };
    const { url } = verdict;
    if (wanted.signal?.aborted) return failed('aborted', 'stopped before it began');
    const expiry = new AbortController();
    const stop = () => expiry.abort();
    const timer = clock.setTimer(timeoutMs, stop);
    wanted.signal?.addEventListener('abort', stop);
    try {
      const target = await untilExpired(expiry.signal, resolveTarget(url, allowHttp));
      if (target !== undefined && target.kind !== 'addresses') return target;
      const headers = withoutOurs(wanted.headers ?? {});
      const result =
        target &&
        (await tryAddresses(target.addresses, connectTimeoutMs, (address, connectMs) => {
          trimIdle();
          const request = {
            method,
            url,
            address,
            headers,
            body,
            maxResponseBytes,
            connectMs,
            expired: expiry.signal,
          };
          return exchangeFresh(request);
        }));
      if (result?.kind === 'answered') return outcomeOf(result, startedMs);
      if (wanted.signal?.aborted) return failed('aborted', 'stopped under way');
      return result ?? failed('timeout', `no DNS answer for ${url.host} in ${timeoutMs} ms`);
    } finally {
      timer.cancel();
      wanted.signal?.removeEventListener('abort', stop);
    }
  }

  async function exchangeFresh(request: Parameters<typeof exchangeHttp>[2]): Promise<ExchangeResult> {
    const first = await exchangeHttp(clock, pool, request);
    if (first.kind !== 'went-stale') return first;
    const fresh = createConnectionPool({ perAddress: 1, idleMs, keepAlive: false, ca });
    return exchangeHttp(clock, fresh, request);
  }

  /** The next address is tried only while nothing was sent; each gets an even share of what connecting may take. */
  async function tryAddresses(
    addresses: readonly string[],
    connectTimeoutMs: number,
    exchange: (address: string, connectMs: number) => Promise<ExchangeResult>,
  ): Promise<HttpAnswer | Extract<HttpOutcome, { kind: 'failed' }>> {
    const endMs = clock.monotonicMs() + connectTimeoutMs;
    const details: string[] = [];
    let reason: 'connect' | 'timeout' = 'connect';
    for (const [i, address] of addresses.entries()) {
      const result = await exchange(address, (endMs - clock.monotonicMs()) / (addresses.length - i));
      if (result.kind === 'answered') return result;
      if (result.kind === 'failed') return failed(result.reason, failureAt(address, result.detail));
      if (result.kind === 'went-stale')
        return failed('reset', failureAt(address, 'closed without an answer'));
      reason = result.reason;
      details.push(failureAt(address, result.detail));
    }
    return failed(reason, details.join('; '));
  }

  async function resolveTarget(
    url: CheckedUrl,
    allowHttp: AllowHttp,
  ): Promise<{ kind: 'addresses'; addresses: string[] } | Exclude<HttpOutcome, { kind: 'answered' }>> {
    const found = url.isAddress ? [url.host] : await lookUp(url.host);
    if (!Array.isArray(found)) return found;
    let refusal: string | undefined;
    if (found.length === 0)
      return { kind: 'blocked', detail: FORBIDDEN, cause: `${url.host} has no address` };
    const addresses: string[] = [];
    for (const address of found) {
      const why = refusalOf(address, url, allowHttp);
      if (why === undefined) addresses.push(address);
      else if (refusal !== FORBIDDEN) refusal = why;
    }
    if (addresses.length > 0) return { kind: 'addresses', addresses: addresses.slice(0, MAX_ADDRESSES) };
    const cause = `${url.host} leads to ${found.slice(0, MAX_ADDRESSES).join(', ')}`;
    return { kind: 'blocked', detail: refusal ?? FORBIDDEN, cause };
  }

  /** IPv4 first: where it exists it works, and IPv6 may be a route to nowhere. Empty where the name has no address. */
  async function lookUp(name: string): Promise<string[] | Extract<HttpOutcome, { kind: 'failed' }>> {
    const answers = await Promise.all([resolver.a(name), resolver.aaaa(name)]);
    const addresses = answers.flatMap((answer) => (answer.kind === 'found' ? answer.records : []));
    if (addresses.length > 0) return addresses;
    const failure = answers.find((answer) => answer.kind === 'failure');
    if (failure?.kind === 'failure') return failed('dns', `${name}: ${failure.reason} (${failure.detail})`);
    return [];
  }

  /** Networks that the operator listed are private ones: their addresses are nobody's to learn. */
  function failureAt(address: string, detail: string): string {
    const verdict = filter.check(address);
    if (verdict.allowed && !verdict.listed) return `${address}: ${detail}`;
    return `an address in a listed network: ${detail.replaceAll(address, '(address)')}`;
  }

  function refusalOf(address: string, url: CheckedUrl, allowHttp: AllowHttp): string | undefined {
    const verdict = filter.check(address);
    if (!verdict.allowed) return FORBIDDEN;
    if (!url.isTls && allowHttp !== 'always' && !verdict.listed) return NEEDS_TLS;
    return ownPorts.includes(url.port) && isThisMachine(address) ? FORBIDDEN : undefined;
  }

  function outcomeOf(answer: HttpAnswer, startedMs: number): HttpOutcome {
    return {
      kind: 'answered',
      status: answer.status,
      // A character cut in two at the cap is left out, an incomplete one at the real end replaced.
      body: new TextDecoder('utf-8').decode(answer.body, { stream: answer.isCut }),
      bodyBytes: answer.body,
      isCut: answer.isCut,
      headers: singleValues(answer.headers),
      latencyMs: Math.round(clock.monotonicMs() - startedMs),
      answeredAt: clock.now(),
    };
  }

  /** The pool bounds idle connections per address only. */
  function trimIdle(): void {
    const idle = [pool.plain, pool.tls].flatMap((agent) => Object.values(agent.freeSockets)).flat();
    for (const socket of idle.slice(0, Math.max(0, idle.length - MAX_IDLE))) socket?.destroy();
  }

  return {
    post: (url, { body, ...wanted }) =>
      call('POST', url, typeof body === 'string' ? Buffer.from(body) : body, wanted),
    get: (url, wanted = {}) => call('GET', url, new Uint8Array(), wanted),
    checkUrl: (url, allowHttp = 'listed-networks') => checkUrl(url, filter, allowHttp),
    async checkTarget(text, allowHttp = 'listed-networks') {
      const verdict = checkUrl(text, filter, allowHttp);
      if (verdict.kind === 'refused') return verdict;
      const target = await resolveTarget(verdict.url, allowHttp);
      return target.kind === 'blocked' ? { kind: 'refused', detail: target.detail } : verdict;
    },
    close() {
      for (const agent of [pool.plain, pool.tls]) {
        for (const socket of Object.values(agent.freeSockets).flat()) socket?.destroy();
      }
    },
  };
}

/** Read at each call that asks: addresses come and go. */
function isThisMachine(address: string): boolean {
  if (/^(127\.|0\.|::1?$|::ffff:)/.test(address)) return true;
  return Object.values(networkInterfaces()).some((each) => each?.some((own) => own.address === address));
}

function withoutOurs(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !OUR_HEADERS.has(name.toLowerCase())));
}

/** All but `set-cookie`, which alone comes as a list. */
function singleValues(headers: HttpAnswer['headers']): Record<string, string | undefined> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) => (typeof value === 'string' ? [[name, value]] : [])),
  );
}

function failed(reason: HttpFailureReason, detail: string): Extract<HttpOutcome, { kind: 'failed' }> {
  return { kind: 'failed', reason, detail };
}

/** What `work` gives, or undefined if `expired` comes first. */
function untilExpired<T>(expired: AbortSignal, work: Promise<T>): Promise<T | undefined> {
  return new Promise((resolve) => {
    const onExpired = () => resolve(undefined);
    expired.addEventListener('abort', onExpired, { once: true });
    void work.then((value) => {
      expired.removeEventListener('abort', onExpired);
      resolve(value);
    });
  });
}
