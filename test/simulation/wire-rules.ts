/**
 * What must hold on the wire at every instant: connections within their limits, towards a site and over a provider,
 * messages and new connections no faster than allowed, no more messages on a connection than it may carry, nothing of
 * what is held. The limits are the operator's and those learned; a learned one counts once it has stood for a while,
 * because what was decided before it came may still be under way.
 */
import type { Override, PathLimits } from '../../src/policy/limits/shaping/types.ts';
import type { OpenConnection, WireTransaction, WireWatch } from '../../src/simulation/wire.ts';

export interface RuleQuestions {
  nowMs(): number;
  wallMs(): number;
  /** By the operator's file alone. */
  written(site: string, source: string): PathLimits;
  /** With what was learned, as the process has it. */
  inForce(site: string, source: string): PathLimits;
  overrides(site: string, source: string): readonly Override[];
  /**
   * DNS failed for a domain of the site a while ago: such a domain goes by a path of its own for a time, beside its
   * site's, and only the provider counts both.
   */
  isApart(site: string): boolean;
  /** An opening may make several connections at once, to another host or with other TLS; they count afterwards. */
  opensAgain(site: string): boolean;
  /** Another process has no memory of the pace of the one before. */
  process(): number;
  /** How long it has been held; null = not held. */
  heldForMs(transaction: WireTransaction): number | null;
}

/** What was decided before a limit came has left by then. */
const UNDER_WAY_MS = 90_000;
const HOLD_MS = 30_000;

export interface WireRules extends WireWatch {
  /** `unlimited`: the limits of the site are not its own alone, and are not looked at. */
  mail(connection: OpenConnection, unlimited?: boolean): void;
  envelope(transaction: WireTransaction, unlimited?: boolean): void;
}

export function createWireRules(asked: RuleQuestions, wrong: (what: string) => void): WireRules {
  const messagePace = new Map<string, { arrivalMs: number; process: number }>();
  const connectionPace = new Map<string, { arrivalMs: number; process: number }>();

  return {
    opened(connection, open) {
      const { site, source } = connection;
      const written = asked.written(site, source);
      const learned = asked
        .overrides(site, source)
        .filter(
          ({ param, createdAt }) => param === 'connections' && asked.wallMs() - createdAt > UNDER_WAY_MS,
        )
        .map(({ value }) => Number(value));
      const most = Math.min(written.connections, ...learned);
      const apart = asked.isApart(site);
      if (open.path > most && !apart)
        wrong(`${open.path} connections from ${source} to ${site}, where ${most} are allowed`);
      const { providerConnections } = written;
      // After a restart nobody knows the provider of a domain whose DNS fails (docs/known-issues.md).
      const unknown = apart && asked.process() > 1;
      if (providerConnections !== null && open.provider > providerConnections && !unknown) {
        wrong(
          `${open.provider} connections to the provider of ${site}, where ${providerConnections} are allowed`,
        );
      }
      const perMinute = written.newConnectionsPerMinute;
      if (perMinute === null) return;
      const early = tooEarly(
        connectionPace,
        connection,
        perMinute / 60,
        Math.ceil(perMinute / 6),
        asked.opensAgain(site) ? 7 : 2,
      );
      if (early > 0 && !apart)
        wrong(`a connection to ${site} ${early} ms before its time (${perMinute} a minute)`);
    },
    envelope(transaction, unlimited = false) {
      const { deliveryId, site, source, secure } = transaction;
      const held = asked.heldForMs(transaction);
      if (held !== null && held > HOLD_MS)
        wrong(`delivery ${deliveryId} went out ${Math.round(held / 1000)} s after it was held`);
      if (!unlimited && !secure && asked.written(site, source).tls === 'required')
        wrong(`delivery ${deliveryId} went in the clear to ${site}, which must not be`);
    },
    mail(connection, unlimited = false) {
      if (unlimited) return;
      const { site, source } = connection;
      const { messagesPerConnection } = asked.written(site, source);
      if (connection.messages > messagesPerConnection)
        wrong(
          `${connection.messages} messages on one connection to ${site}, where ${messagesPerConnection} are allowed`,
        );
      const perSecond = asked.inForce(site, source).messagesPerSecond;
      if (perSecond === null) return;
      // An envelope waits behind the message before it: one for each connection may come late, and then at once.
      const waiting = asked.written(site, source).connections + 1;
      const early = tooEarly(messagePace, connection, perSecond, Math.ceil(perSecond), waiting);
      if (early > 0)
        wrong(`a message to ${site} ${early} ms before its time (${perSecond.toFixed(3)} a second)`);
    },
  };

  function tooEarly(
    paces: Map<string, { arrivalMs: number; process: number }>,
    { site, source, process }: OpenConnection,
    perSecond: number,
    burst: number,
    tolerated: number,
  ): number {
    const key = `${source}>${site}`;
    let pace = paces.get(key);
    if (pace === undefined || pace.process !== process) {
      pace = { arrivalMs: Number.NEGATIVE_INFINITY, process };
      paces.set(key, pace);
    }
    const nowMs = asked.nowMs();
    const intervalMs = 1000 / perSecond;
    const early = pace.arrivalMs - intervalMs * (burst - 1 + tolerated) - nowMs;
    pace.arrivalMs = Math.max(pace.arrivalMs, nowMs) + intervalMs;
    return early > 1 ? Math.round(early) : 0;
  }
}
