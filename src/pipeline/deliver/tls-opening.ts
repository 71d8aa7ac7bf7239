/**
 * Opens a connection to one endpoint under its TLS plan, and knows what to do where TLS does not work
 * (delivery.md §9.2): the same host once more with a small ClientHello, and, only where nothing is asked for, once in the
 * clear. What worked is remembered for a day, so that a broken host costs one handshake a day and not one a message.
 * Plaintext behind the STARTTLS reply is an attack, not a broken server: no second try, and never in the clear.
 * Each session is counted as RFC 8460 would report it.
 */
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import type { Connect } from '../../net/sockets.ts';
import { type EgressMemory, readFlag } from '../../policy/limits/shaping/egress-memory.ts';
import { openSession } from '../../smtp/client-session.ts';
import type { TlsContexts, TlsMode } from '../../smtp/client-tls.ts';
import type { OpenFailure, OpenResult, Timeouts } from '../../smtp/client-types.ts';
import type { TlsResult } from '../../store/topics/tls.ts';
import type { Endpoint } from './endpoints.ts';
import { certificateResult, type TlsCounters } from './tls-counters.ts';

export interface OpenWish {
  /** Ends the opening early. */
  signal: AbortSignal;
  /** Source address to bind; the system's choice where absent. */
  localAddress?: string | undefined;
  /** Name in EHLO; the server's own where absent. */
  heloName?: string | undefined;
  /** TLS is asked for even where the plan would do without (a limit of the path). */
  tlsRequired?: boolean | undefined;
}

export interface Opener {
  /** Never rejects for what a server does. */
  open(endpoint: Endpoint, wish: OpenWish): Promise<OpenResult>;
  /** A server refused mail for want of TLS: what is remembered of it is forgotten, and TLS asked for during a week. */
  tlsDemanded(endpoint: Endpoint): void;
}

export interface OpenerDeps {
  clock: Clock;
  log: Logger;
  tlsContexts: TlsContexts;
  counters: Pick<TlsCounters, 'count'>;
  /** What is kept over a restart. */
  learnt: Pick<EgressMemory, 'facts'>;
  /** Where connections come from; TCP where left out. */
  connect?: Connect | undefined;
}

const DAY_MS = 24 * 3_600_000;
const DEMANDED_MS = 7 * DAY_MS;
/** On the last host there is nothing else to try (delivery.md §9.3). */
const LAST_BANNER_MS = 300_000;
const CONNECT_MS = 15_000;

/** How far TLS had to be bent for a host. */
interface Bent {
  to: 'small' | 'clear';
  /** What it is counted as while it goes in the clear. */
  result: TlsResult;
}

export function createOpener(deps: OpenerDeps, options: { heloName: string }): Opener {
  const { clock, log, tlsContexts, counters } = deps;
  const bents = deps.learnt.facts('tls-bent', readBent);
  const demanded = deps.learnt.facts('tls-demanded', readFlag);

  return {
    open,
    tlsDemanded(endpoint) {
      const key = keyOf(endpoint);
      bents.forget(key);
      demanded.set(key, true, clock.now() + DEMANDED_MS);
    },
  };

  async function open(endpoint: Endpoint, wish: OpenWish): Promise<OpenResult> {
    const key = keyOf(endpoint);
    const mode = modeFor(endpoint, wish);
    const known = bents.get(key);
    if (mode === 'opportunistic' && known?.to === 'clear') {
      const result = await connect(endpoint, wish, 'off', false);
      if (result.kind === 'open') count(endpoint, known.result);
      return result;
    }
    const first = await connect(endpoint, wish, mode, known?.to === 'small');
    if (first.kind === 'open' || !isTlsTrouble(first) || wish.signal.aborted) return counted(endpoint, first);
    let last = first;
    // Only a handshake that never ended may be mended by asking differently.
    if (first.stage === 'tls' && first.tls === null && known?.to !== 'small') {
      const second = await connect(endpoint, wish, mode, true);
      if (second.kind === 'open') {
        bents.set(key, { to: 'small', result: 'success' }, clock.now() + DAY_MS);
        return counted(endpoint, second);
      }
      if (!isTlsTrouble(second) || wish.signal.aborted) return counted(endpoint, second);
      last = second;
    }
    if (mode !== 'opportunistic') return counted(endpoint, last);
    const { host, address } = endpoint;
    log.info({ host, address, detail: last.detail }, 'TLS failed; in the clear');
    const result = failureResult(last);
    bents.set(key, { to: 'clear', result }, clock.now() + DAY_MS);
    const clear = await connect(endpoint, wish, 'off', false);
    count(endpoint, result);
    return clear;
  }

  function modeFor(endpoint: Endpoint, wish: OpenWish): TlsMode {
    const { mode } = endpoint.tls;
    if (mode !== 'opportunistic') return mode;
    return wish.tlsRequired === true || demanded.get(keyOf(endpoint)) !== null ? 'required' : mode;
  }

  async function connect(
    endpoint: Endpoint,
    wish: OpenWish,
    mode: TlsMode,
    smallClientHello: boolean,
  ): Promise<OpenResult> {
    const { host, address, port, implicitTls, tls, budget } = endpoint;
    const startedMs = clock.monotonicMs();
    const timeouts: Partial<Timeouts> = {
      connectMs: Math.max(1, Math.min(CONNECT_MS, budget.connectLeftMs)),
      ...(endpoint.isLast && !budget.hurried ? { bannerMs: LAST_BANNER_MS } : {}),
    };
    const result = await openSession(
      { host, address, port, implicitTls },
      {
        clock,
        heloName: wish.heloName ?? options.heloName,
        tls: mode,
        dane: tls.dane ?? undefined,
        verifiedAs: tls.counted?.policy === 'sts' && mode === 'verified' ? 'mta-sts' : undefined,
        auth: endpoint.auth ?? undefined,
        allowPlaintextAuth: endpoint.allowPlaintextAuth,
        tlsContexts,
        localAddress: wish.localAddress,
        connect: deps.connect,
        signal: wish.signal,
        smallClientHello,
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
    // What failed before TLS says nothing about it.
    else if (isTlsTrouble(result) || result.reason === 'injection') count(endpoint, failureResult(result));
    return result;
  }

  function count(endpoint: Endpoint, result: TlsResult): void {
    const { counted: as } = endpoint.tls;
    if (as !== null) counters.count({ ...as, mxHost: endpoint.host, result });
  }
}

/** A session under a policy that is only being tested is counted as the policy would have seen it. */
function sessionResult(endpoint: Endpoint, { session }: Extract<OpenResult, { kind: 'open' }>): TlsResult {
  if (session.tls === null) return 'starttls-not-supported';
  const { testing } = endpoint.tls;
  if (testing === null) return 'success';
  return testing.isNamed ? certificateResult(session.tls) : 'validation-failure';
}

function failureResult(failed: OpenFailure): TlsResult {
  if (failed.stage === 'starttls' && failed.reason !== 'injection') return 'starttls-not-supported';
  return failed.tls === null ? 'validation-failure' : certificateResult(failed.tls);
}

/** TLS is what failed, and another way of doing TLS, or none, may work. */
function isTlsTrouble({ stage, reason }: OpenFailure): boolean {
  return (stage === 'tls' || stage === 'starttls') && reason !== 'injection' && reason !== 'aborted';
}

function readBent(json: unknown): Bent | null {
  if (typeof json !== 'object' || json === null) return null;
  const { to, result } = json as Partial<Record<keyof Bent, unknown>>;
  if ((to !== 'small' && to !== 'clear') || typeof result !== 'string') return null;
  return { to, result: result as TlsResult };
}

function keyOf({ address, port }: Endpoint): string {
  return `${address}:${port}`;
}
