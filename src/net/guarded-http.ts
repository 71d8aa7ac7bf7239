/**
 * HTTP calls to URLs that somebody else chose (webhooks, policies), restricted to allowed addresses. The URL is
 * checked, its host resolved, every address checked, and the connection made to an address that passed; there is no
 * second look-up that could give another answer. Returns the result as a value. `timeoutMs` limits the whole call,
 * including the look-up and a slow answer. Connections are kept for a short time per address and name; one that the
 * server had closed is replaced once, so a request may be sent twice.
 */
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
import type { ResolverByAsker } from './dns-types.ts';
import { createConnectionPool, type ExchangeResult, exchangeHttp, type HttpAnswer } from './http-exchange.ts';

interface HttpCallOptions {
  headers?: Readonly<Record<string, string>>;
  /** For the whole call. Default 15,000. */
  timeoutMs?: number;
  /** For connecting with TLS, over all addresses tried. Default 5,000. */
  connectTimeoutMs?: number;
  /** Octets of the answer's body that are read. Default 65,536. */
  maxResponseBytes?: number;
  /** Default `never`. */
  allowHttp?: AllowHttp;
  /** The sender domain that it is made for, or '' (default) for this server's own. */
  asker?: string;
  /** Aborts the call with `aborted`. */
  signal?: AbortSignal;
}

export type HttpOutcome =
  | {
      kind: 'answered';
      /** As received; a 3xx is not followed. */
      status: number;
      /** Text up to the cap, UTF-8 with replacement. */
      body: string;
      /** The body as received. */
      bodyBytes: Uint8Array;
      /** The answer was longer than the cap. */
      isCut: boolean;
      /** Names in lower case; `set-cookie` is left out. */
      headers: Record<string, string | undefined>;
      /** When the answer ended, epoch milliseconds. */
      answeredAt: number;
    }
  /**
   * The URL or every address of its host is forbidden, or its name has none. Nothing was connected to. `cause`: which
   * of these and the address, for the operator only.
   */
  | { kind: 'blocked'; detail: string; cause?: string }
  | { kind: 'failed'; reason: HttpFailureReason; detail: string };

/** `local`: this machine could not call; the detail says what to do. */
type HttpFailureReason = 'dns' | 'connect' | 'tls' | 'timeout' | 'reset' | 'protocol' | 'aborted' | 'local';

export interface GuardedHttp {
  /** Never throws. `body` as UTF-8 where it is text. */
  post(url: string, options: HttpCallOptions & { body: Uint8Array | string }): Promise<HttpOutcome>;
  /** Never throws. */
  get(url: string, options?: HttpCallOptions): Promise<HttpOutcome>;
  /**
   * What is known about a URL before calling it, with the current addresses of its host. `allowHttp` defaults to
   * `listed-networks`. A DNS failure refuses nothing, because it may be temporary.
   */
  checkTarget(url: string, allowHttp?: AllowHttp, asker?: string): Promise<UrlVerdict>;
  /** Closes idle connections; running calls end by themselves. */
  close(): void;
}

export interface GuardedHttpOptions {
  /** PEM certificates to trust instead of the built-in authorities. */
  ca?: readonly string[];
  /** Idle connections are closed after this. Default 15,000. */
  idleMs?: number;
}

/** Concurrent connections per address and name; further calls wait. */
const MAX_PER_ADDRESS = 32;
/** Addresses tried in one call, and idle connections kept in total. */
const MAX_ADDRESSES = 4;
const MAX_IDLE = 256;
/** Set only here; a caller's own could contradict what is sent. */
const OUR_HEADERS = new Set([
  'host',
  'content-length',
  'connection',
  'transfer-encoding',
  'upgrade',
  'expect',
]);

/** `resolver` finds addresses, `filter` says which may be connected to. */
export function createGuardedHttp(
  deps: { clock: Clock; resolver: ResolverByAsker<'a' | 'aaaa'>; filter: AddressCheck },
  options: GuardedHttpOptions = {},
): GuardedHttp {
  const { clock, resolver, filter } = deps;
  const { ca, idleMs = 15_000 } = options;
  const pool = createConnectionPool({ perAddress: MAX_PER_ADDRESS, idleMs, keepAlive: true, ca });

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
      asker = '',
    } = wanted;
    const verdict = checkUrl(text, filter, allowHttp);
    if (verdict.kind === 'refused') return { kind: 'blocked', detail: verdict.detail };
    const { url } = verdict;
    if (wanted.signal?.aborted) return failed('aborted', 'stopped before it began');
    const expiry = new AbortController();
    const stop = () => expiry.abort();
    const timer = clock.setTimer(timeoutMs, stop);
    wanted.signal?.addEventListener('abort', stop);
    try {
      const target = await untilExpired(expiry.signal, resolveTarget(url, asker, allowHttp));
      if (target !== undefined && target.kind !== 'addresses') return target;
      const headers = withoutOurs(wanted.headers ?? {});
      const result =
        target &&
        (await tryAddresses(url, target.addresses, connectTimeoutMs, (address, connectMs) => {
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
      if (result?.kind === 'answered') return outcomeOf(result);
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

  /** The next address is tried only if nothing was sent; each gets an equal share of the time for connecting. */
  async function tryAddresses(
    url: CheckedUrl,
    addresses: readonly string[],
    connectTimeoutMs: number,
    exchange: (address: string, connectMs: number) => Promise<ExchangeResult>,
  ): Promise<HttpAnswer | Extract<HttpOutcome, { kind: 'failed' }>> {
    const endMs = clock.monotonicMs() + connectTimeoutMs;
    const details: string[] = [];
    let reason: 'connect' | 'timeout' | 'local' = 'connect';
    for (const [i, address] of addresses.entries()) {
      const result = await exchange(address, (endMs - clock.monotonicMs()) / (addresses.length - i));
      if (result.kind === 'answered') return result;
      if (result.kind === 'failed') return failed(result.reason, failureAt(url, address, result.detail));
      if (result.kind === 'went-stale')
        return failed('reset', failureAt(url, address, 'closed without an answer'));
      // What another address says tells more.
      if (result.reason !== 'local' || details.length === 0) reason = result.reason;
      details.push(failureAt(url, address, result.detail));
    }
    return failed(reason, details.join('; '));
  }

  async function resolveTarget(
    url: CheckedUrl,
    asker: string,
    allowHttp: AllowHttp,
  ): Promise<{ kind: 'addresses'; addresses: string[] } | Exclude<HttpOutcome, { kind: 'answered' }>> {
    const found = url.isAddress ? [url.host] : await lookUp(url.host, asker);
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

  /** IPv4 first: IPv6 may be configured without working. Empty if the name has no address. */
  async function lookUp(
    name: string,
    asker: string,
  ): Promise<string[] | Extract<HttpOutcome, { kind: 'failed' }>> {
    const asking = resolver.of(asker);
    const answers = await Promise.all([asking.a(name), asking.aaaa(name)]);
    const addresses = answers.flatMap((answer) => (answer.kind === 'found' ? answer.records : []));
    if (addresses.length > 0) return addresses;
    const failure = answers.find((answer) => answer.kind === 'failure');
    if (failure?.kind === 'failure')
      return failure.reason === 'local'
        ? failed('local', `the DNS cannot be asked: ${failure.detail}`)
        : failed('dns', `${name}: ${failure.reason} (${failure.detail})`);
    return [];
  }

  /** Networks that the operator listed are private, so callers must not learn addresses that they did not write themselves. */
  function failureAt(url: CheckedUrl, address: string, detail: string): string {
    const verdict = filter.check(address);
    if (url.isAddress || (verdict.allowed && !verdict.listed)) return `${address}: ${detail}`;
    return `a private address (not shown): ${detail.replaceAll(address, '(address)')}`;
  }

  function refusalOf(address: string, url: CheckedUrl, allowHttp: AllowHttp): string | undefined {
    const verdict = filter.check(address);
    if (!verdict.allowed) return FORBIDDEN;
    return !url.isTls && allowHttp !== 'always' && !verdict.listed ? NEEDS_TLS : undefined;
  }

  function outcomeOf(answer: HttpAnswer): HttpOutcome {
    return {
      kind: 'answered',
      status: answer.status,
      // A character that the limit cut in two is left out; an incomplete one at the real end is replaced.
      body: new TextDecoder('utf-8').decode(answer.body, { stream: answer.isCut }),
      bodyBytes: answer.body,
      isCut: answer.isCut,
      headers: singleValues(answer.headers),
      answeredAt: clock.now(),
    };
  }

  /** The pool limits idle connections only per address. */
  function trimIdle(): void {
    const idle = [pool.plain, pool.tls].flatMap((agent) => Object.values(agent.freeSockets)).flat();
    for (const socket of idle.slice(0, Math.max(0, idle.length - MAX_IDLE))) socket?.destroy();
  }

  return {
    post: (url, { body, ...wanted }) =>
      call('POST', url, typeof body === 'string' ? Buffer.from(body) : body, wanted),
    get: (url, wanted = {}) => call('GET', url, new Uint8Array(), wanted),
    async checkTarget(text, allowHttp = 'listed-networks', asker = '') {
      const verdict = checkUrl(text, filter, allowHttp);
      if (verdict.kind === 'refused') return verdict;
      const target = await resolveTarget(verdict.url, asker, allowHttp);
      return target.kind === 'blocked' ? { kind: 'refused', detail: target.detail } : verdict;
    },
    close() {
      for (const agent of [pool.plain, pool.tls]) {
        for (const socket of Object.values(agent.freeSockets).flat()) socket?.destroy();
      }
    },
  };
}

function withoutOurs(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !OUR_HEADERS.has(name.toLowerCase())));
}

/** All except `set-cookie`, the only one that is a list. */
function singleValues(headers: HttpAnswer['headers']): Record<string, string | undefined> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) => (typeof value === 'string' ? [[name, value]] : [])),
  );
}

function failed(reason: HttpFailureReason, detail: string): Extract<HttpOutcome, { kind: 'failed' }> {
  return { kind: 'failed', reason, detail };
}

/** The result of `work`, or undefined if `expired` is aborted first. */
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
