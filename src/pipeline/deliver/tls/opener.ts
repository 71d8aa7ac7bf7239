/**
 * Opens a connection to one endpoint under its TLS plan, and decides what to do if TLS fails.
 *
 * If the plan requires TLS, a failed handshake is only tried once more with a small ClientHello. If not, a connection
 * whose TLS fails, before or after the handshake, is followed by one without TLS for this attempt. What was observed is
 * used carefully: a host that did TLS in the last days gets no TLS only if its TLS has failed for a minute or more, and
 * only two consecutive failed handshakes disable TLS for a day. A 421, a reset or a time-out says nothing about what a
 * host can do. But a silent host costs up to a minute at each connection: one that has been silent for ten minutes gets
 * connections without TLS for as long. A host whose TLS sessions end before the first message is answered, for a minute or
 * more, gets connections without TLS for an hour, unless it answered a message under TLS in the last days: opportunistic TLS
 * must not prevent delivery that works without it (RFC 7435 §3), and who can break sessions must not get mail in the clear.
 * Plaintext after the STARTTLS reply is an attack, not a broken server: there is no second try, and never one without TLS. Each
 * session is counted for RFC 8460.
 */
import type { Clock } from '../../../lib/clock.ts';
import type { Logger } from '../../../lib/log.ts';
import type { Connect } from '../../../net/sockets.ts';
import { type EgressMemory, readFlag } from '../../../policy/limits/shaping/egress-memory.ts';
import { openSession } from '../../../smtp/client-session.ts';
import type { TlsContexts, TlsMode } from '../../../smtp/client-tls.ts';
import type { OpenFailure, OpenResult, Timeouts } from '../../../smtp/client-types.ts';
import { type CountTls, certificateResult, type TlsResult } from './counters.ts';
import type { Endpoint } from './endpoint.ts';
import { askedBy } from './plan.ts';

export interface OpenWish {
  /** Aborts the opening. */
  signal: AbortSignal;
  /** Name in EHLO; default: the server's own. */
  heloName?: string | undefined;
  /** Called before each connection; one opening may make several. */
  connecting?: (() => void) | undefined;
}

export interface Opener {
  /** Never rejects because of a server. */
  open(endpoint: Endpoint, wish: OpenWish): Promise<OpenResult>;
  /**
   * A server refused mail because TLS was missing: what was recorded about its TLS is dropped, and TLS is required for
   * a week.
   */
  tlsDemanded(endpoint: Endpoint): void;
  /** The first message of a session with TLS was answered, or (`why`) the session ended before that. */
  firstUnderTls(endpoint: Endpoint, why: string | null): void;
}

interface OpenerDeps {
  clock: Clock;
  log: Logger;
  tlsContexts: TlsContexts;
  countTls: CountTls;
  /** Stored over a restart. */
  egressMemory: Pick<EgressMemory, 'facts'>;
  /** How connections are opened; default: TCP. */
  connect?: Connect | undefined;
}

const DAY_MS = 24 * 3_600_000;
const DEMANDED_MS = 7 * DAY_MS;
/** A host that did TLS, or answered a message under it, is expected to do so for this long. */
const DID_TLS_MS = 7 * DAY_MS;
/** TLS failures of a host that are further apart are separate problems. */
const TROUBLE_MS = 2 * DAY_MS;
/** A single fault is shorter than this: a restart, a busy moment. */
const LASTING_MS = 60_000;
/**
 * The same for TLS sessions of a host that answered messages under TLS within the last week. Long enough for somebody to notice,
 * and shorter than mail is tried: a host that can do no TLS any more still gets its mail.
 */
const PROVEN_LASTING_MS = 12 * 3_600_000;
/** How long a host whose TLS sessions end at once gets connections without TLS, counted from the last such session. */
const DYING_MS = 3_600_000;
/** From then on a silent host gets no TLS for as long as it has been silent, at most as one whose sessions end at once. */
const SILENT_MS = 10 * 60_000;
/** On the last host there is nothing else to try. */
const LAST_BANNER_MS = 300_000;
const CONNECT_MS = 15_000;

/** The weaker TLS that a host needs after failed handshakes; stored under the name `tls-bent`. */
interface TlsFallback {
  to: 'small' | 'clear';
  /** The result under which it is counted while TLS is not used. */
  result: TlsResult;
  /** What failed. */
  why: string;
}

/** TLS sessions that ended before they answered their first message. */
interface Dying {
  since: number;
  last: number;
  why: string;
}

export function createOpener(deps: OpenerDeps, options: { heloName: string }): Opener {
  const { clock, log, tlsContexts, countTls } = deps;
  const fallbacks = deps.egressMemory.facts('tls-bent', readFallback, DAY_MS);
  const demanded = deps.egressMemory.facts('tls-demanded', readFlag, DEMANDED_MS);
  /** The day of a host's last TLS session. */
  const didTls = deps.egressMemory.facts('tls-done', readNumber, DID_TLS_MS);
  /** Since when every attempt at TLS with a host has failed (epoch milliseconds). */
  const troubled = deps.egressMemory.facts('tls-trouble', readNumber, TROUBLE_MS);

  /** The last day on which a host answered a message under TLS. */
  const carried = deps.egressMemory.facts('tls-carried', readNumber, DID_TLS_MS);
  const dying = deps.egressMemory.facts('tls-dying', readDying, TROUBLE_MS);

  return {
    open,
    firstUnderTls(endpoint, why) {
      const key = keyOf(endpoint);
      const known = dying.get(key);
      if (why === null) {
        if (known !== null) dying.forget(key);
        noteToday(carried, key);
        return;
      }
      const now = clock.now();
      const since = Math.min(known?.since ?? now, now);
      const died = { since, last: now, why: why.slice(0, 256) };
      dying.set(
        key,
        died,
        now + (diesForLong(key, died) || carried.get(key) === null ? DYING_MS : TROUBLE_MS),
      );
    },
    tlsDemanded(endpoint) {
      const key = keyOf(endpoint);
      fallbacks.forget(key);
      dying.forget(key);
      demanded.set(key, true, clock.now() + DEMANDED_MS);
    },
  };

  async function open(endpoint: Endpoint, wish: OpenWish): Promise<OpenResult> {
    const mode = modeFor(endpoint);
    if (mode === 'off') return counted(endpoint, await connect(endpoint, wish, { mode }));
    return mode === 'opportunistic' ? openAsOffered(endpoint, wish) : openSecure(endpoint, wish, mode);
  }

  /** TLS is required: no connection without it. */
  async function openSecure(endpoint: Endpoint, wish: OpenWish, mode: TlsMode): Promise<OpenResult> {
    const small = fallbacks.get(keyOf(endpoint))?.to === 'small';
    const first = await connect(endpoint, wish, { mode, small });
    const once = !isBrokenHandshake(first) || small || wish.signal.aborted;
    const result = once ? first : await connect(endpoint, wish, { mode, small: true });
    return withAsked(endpoint, ended(endpoint, result, small || !once));
  }

  /** Adds who requires the TLS that failed. */
  function withAsked(endpoint: Endpoint, result: OpenResult): OpenResult {
    if (result.kind === 'open' || !isByTls(result)) return result;
    const { tls, host, recipientDomain } = endpoint;
    const asked =
      askedBy(tls, host, recipientDomain) || 'this server refused mail in the clear within the last week';
    return { ...result, asked };
  }

  /** TLS if it is offered and works. */
  async function openAsOffered(endpoint: Endpoint, wish: OpenWish): Promise<OpenResult> {
    const key = keyOf(endpoint);
    const mode = 'opportunistic';
    const fallback = fallbacks.get(key);
    if (fallback?.to === 'clear') return openInClear(endpoint, wish, fallback);
    const died = dying.get(key);
    if (died !== null && diesForLong(key, died))
      return openInClear(endpoint, wish, { to: 'clear', result: 'validation-failure', why: died.why });
    const small = fallback?.to === 'small';
    const mustDoTls = didTls.get(key) !== null && !lastsAlready(key);
    const first = await held(await connect(endpoint, wish, { mode, small }), mustDoTls);
    if (!isTlsTrouble(first) || wish.signal.aborted) return ended(endpoint, first, small);
    let last = first;
    let definite = false;
    // A handshake may succeed with another ClientHello, another fault with a second try; a busy server is left alone.
    const broken = isBrokenHandshake(first);
    if (broken || (mustDoTls && !isBusy(first))) {
      const again = broken ? !small : small;
      const second = await held(await connect(endpoint, wish, { mode, small: again }), mustDoTls);
      if (!isTlsTrouble(second) || wish.signal.aborted) return ended(endpoint, second, again);
      last = second;
      definite = isDefinite(first) && isDefinite(second);
    }
    const now = clock.now();
    const since = Math.min(troubled.get(key) ?? now, now);
    troubled.set(key, since, now + TROUBLE_MS);
    const { host, address } = endpoint;
    const detail = `${last.stage === 'ehlo' ? 'behind the handshake: ' : ''}${last.detail}`;
    if ((mustDoTls || isBusy(last)) && now - since < LASTING_MS) {
      log.info({ host, address, detail }, 'TLS failed; tried again before anything goes in the clear');
      return counted(endpoint, last);
    }
    const why = { to: 'clear', result: failureResult(last), why: detail.slice(0, 256) } as const;
    const rememberMs = definite
      ? DAY_MS
      : last.reason === 'timeout' && now - since >= SILENT_MS
        ? Math.min(now - since, DYING_MS)
        : 0;
    if (rememberMs > 0) fallbacks.set(key, why, now + rememberMs);
    log.info({ host, address, detail, remembered: rememberMs > 0 }, 'TLS failed; in the clear');
    return openInClear(endpoint, wish, why);
  }

  /** Its sessions under TLS have ended for so long that this is no passing fault. */
  function diesForLong(key: string, { since, last }: Dying): boolean {
    return last - since >= (carried.get(key) === null ? LASTING_MS : PROVEN_LASTING_MS);
  }

  /** Its TLS has failed for so long that this attempt continues without TLS if it fails too. */
  function lastsAlready(key: string): boolean {
    const since = troubled.get(key);
    return since !== null && clock.now() - since >= LASTING_MS;
  }

  async function openInClear(endpoint: Endpoint, wish: OpenWish, fallback: TlsFallback): Promise<OpenResult> {
    const result = await connect(endpoint, wish, { mode: 'off', inClear: `TLS failed: ${fallback.why}` });
    if (result.kind === 'open') count(endpoint, fallback.result);
    return result;
  }

  /** Records what a session shows about the host's TLS. */
  function ended(endpoint: Endpoint, result: OpenResult, small: boolean): OpenResult {
    if (result.kind === 'open' && result.session.tls !== null) {
      const key = keyOf(endpoint);
      const now = clock.now();
      const fallback = fallbacks.get(key);
      if (small && fallback?.to !== 'small') {
        fallbacks.set(key, { to: 'small', result: 'success', why: '' }, now + DAY_MS);
      } else if (!small && fallback !== null) fallbacks.forget(key);
      if (troubled.get(key) !== null) troubled.forget(key);
      noteToday(didTls, key);
    }
    return counted(endpoint, result);
  }

  /** Written once per day for a host, not at every connection. */
  function noteToday(days: typeof didTls, key: string): void {
    const now = clock.now();
    const today = Math.floor(now / DAY_MS);
    if (days.get(key) !== today) days.set(key, today, now + DID_TLS_MS);
  }

  function modeFor(endpoint: Endpoint): TlsMode {
    const { mode } = endpoint.tls;
    if (mode !== 'opportunistic') return mode;
    return demanded.get(keyOf(endpoint)) !== null ? 'required' : mode;
  }

  async function connect(
    endpoint: Endpoint,
    wish: OpenWish,
    how: { mode: TlsMode; small?: boolean; inClear?: string },
  ): Promise<OpenResult> {
    const { mode, small = false, inClear } = how;
    const { host, address, port, implicitTls, tls, budget } = endpoint;
    wish.connecting?.();
    const startedMs = clock.monotonicMs();
    const { connectMs = CONNECT_MS, stepMs } = budget.test ?? {};
    const timeouts: Partial<Timeouts> = {
      connectMs: Math.max(1, Math.min(connectMs, budget.connectLeftMs)),
      ...(endpoint.isLast && !budget.hurried ? { bannerMs: LAST_BANNER_MS } : {}),
      ...(stepMs === undefined
        ? {}
        : { bannerMs: stepMs, ehloMs: stepMs, startTlsMs: stepMs, authMs: stepMs }),
    };
    const result = await openSession(
      { host, address, port, implicitTls },
      {
        clock,
        heloName: wish.heloName ?? options.heloName,
        tls: mode,
        dane: tls.dane ?? undefined,
        verifiedAs: tls.counted === 'sts' && mode === 'verified' ? 'mta-sts' : undefined,
        auth: endpoint.auth ?? undefined,
        allowPlaintextAuth: endpoint.allowPlaintextAuth,
        tlsContexts,
        localAddress: endpoint.localAddress,
        connect: deps.connect,
        signal: wish.signal,
        smallClientHello: small,
        inClear,
        timeouts,
      },
    );
    if (result.kind === 'failed' && result.stage === 'connect')
      budget.connectLeftMs -= clock.monotonicMs() - startedMs;
    return result;
  }

  // ── counting ────────────────────────────────────────────────────────────────────────────────────────────

  function counted(endpoint: Endpoint, result: OpenResult): OpenResult {
    if (result.kind === 'open') count(endpoint, sessionResult(endpoint, result));
    // A failure before TLS says nothing about it.
    else if (isByTls(result)) count(endpoint, failureResult(result));
    return result;
  }

  function count(endpoint: Endpoint, result: TlsResult): void {
    const { counted: policy } = endpoint.tls;
    if (policy !== null) countTls(policy, result);
  }
}

/** A session under a policy in testing mode is counted as that policy would have counted it. */
function sessionResult(endpoint: Endpoint, { session }: Extract<OpenResult, { kind: 'open' }>): TlsResult {
  if (session.tls === null) return 'starttls-not-supported';
  const { testing } = endpoint.tls;
  if (testing === null) return 'success';
  return testing.isNamed ? certificateResult(session.tls) : 'validation-failure';
}

function failureResult(failed: OpenFailure): TlsResult {
  if (failed.stage === 'starttls' && failed.reason !== 'injection') return 'starttls-not-supported';
  // A session that ended after its handshake has no result of its own (RFC 8460 §4.3).
  return failed.tls === null || failed.stage !== 'tls' ? 'validation-failure' : certificateResult(failed.tls);
}

/** A host that did TLS until recently and now offers none counts as one whose TLS fails. Its connection has ended by then. */
async function held(result: OpenResult, mustDoTls: boolean): Promise<OpenResult> {
  if (result.kind === 'failed' || !mustDoTls || result.session.tls !== null) return result;
  const { conversation } = result.session;
  const { promise: isClosed, resolve } = Promise.withResolvers<unknown>();
  result.session.onClosed(resolve);
  result.session.quit();
  await isClosed;
  const detail = 'the server did TLS lately and does not offer it now';
  return { kind: 'failed', stage: 'starttls', reason: 'tls', detail, reply: null, tls: null, conversation };
}

/** TLS failed: STARTTLS, the handshake, the session directly after it, or an injection. */
export function isByTls({ stage, reason, tls }: OpenFailure): boolean {
  if (reason === 'aborted') return false;
  if (stage === 'tls' || stage === 'starttls') return true;
  return stage === 'ehlo' && tls !== null && reason !== 'reply';
}

/** Other TLS settings, or no TLS, may work. */
function isTlsTrouble(result: OpenResult): result is OpenFailure {
  return result.kind === 'failed' && isByTls(result) && result.reason !== 'injection';
}

/** The handshake itself failed, not the check of the certificate. */
function isBrokenHandshake(result: OpenResult): boolean {
  return result.kind === 'failed' && result.stage === 'tls' && result.tls === null && isTlsTrouble(result);
}

function isBusy({ reply }: OpenFailure): boolean {
  return reply?.code === 421;
}

/**
 * It shows what the host can do: a handshake that failed because of its data. If STARTTLS is unavailable (454, not
 * offered), the next EHLO shows that again at no cost.
 */
function isDefinite(failed: OpenFailure): boolean {
  return isBrokenHandshake(failed) && failed.reason !== 'timeout';
}

function readFallback(json: unknown): TlsFallback | null {
  if (typeof json !== 'object' || json === null) return null;
  const { to, result, why } = json as Partial<Record<keyof TlsFallback, unknown>>;
  if ((to !== 'small' && to !== 'clear') || typeof result !== 'string') return null;
  // Version 0.1 stored no reason, and gave up TLS after one 421 or reset.
  if (to === 'clear' && typeof why !== 'string') return null;
  return { to, result: result as TlsResult, why: typeof why === 'string' ? why : '' };
}

function readDying(json: unknown): Dying | null {
  if (typeof json !== 'object' || json === null) return null;
  const { since, last, why } = json as Partial<Record<keyof Dying, unknown>>;
  if (typeof since !== 'number' || typeof last !== 'number' || typeof why !== 'string') return null;
  return { since, last, why };
}

function readNumber(json: unknown): number | null {
  return typeof json === 'number' ? json : null;
}

function keyOf({ address, port }: Endpoint): string {
  return `${address}:${port}`;
}
