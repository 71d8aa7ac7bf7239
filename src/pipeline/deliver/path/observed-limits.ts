/**
 * What a reply about the path teaches for a time: fewer connections, fewer messages on one,
 * half the rate, a rest. Given an outcome and what the path was doing, gives the overrides to note. Pure; only replies
 * of the far end get here, never words of our own.
 */
import { type OverrideNote, pathKey } from '../../../policy/limits/shaping/types.ts';
import type { Outcome } from '../outcome/outcome.ts';

export interface ObservedContext {
  source: string;
  site: string;
  now: number;
  /** Connections open when the reply came, the one it came on included. */
  open: number;
  /** Messages that this connection had been given, the refused one included; 0 while opening. */
  taken: number;
  /** Rate in force, per second; null = none. */
  messagesPerSecond: number | null;
  /** How long the path waits for this reply. */
  waitMs: number;
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
/** A rate where none was set: halves of nothing are nothing. */
const RATE_WITHOUT_LIMIT = 20;
const SLOWEST = 1 / 60;
/** Rules whose text is about messages on one connection, not about connections. */
const MESSAGES_ON_ONE = new Set(['P09']);

export function observedLimits(
  outcome: Extract<Outcome, { kind: 'path' }>,
  context: ObservedContext,
): OverrideNote[] {
  const { source, site, now } = context;
  if (outcome.reply === null || outcome.verdict === null) return [];
  const note = (param: OverrideNote['param'], value: number | string, forMs: number): OverrideNote => ({
    scope: 'path',
    key: pathKey(source, site),
    param,
    value,
    until: now + forMs,
    rule: outcome.category,
    why: outcome.detail,
  });
  switch (outcome.category) {
    case 'connection_limited':
      if (MESSAGES_ON_ONE.has(outcome.verdict.ruleId) && context.taken > 1) {
        return [note('messagesPerConnection', Math.max(1, context.taken - 1), 24 * HOUR)];
      }
      return [note('connections', Math.max(1, context.open - 1), HOUR)];
    case 'rate_limited': {
      const half = Math.max(SLOWEST, (context.messagesPerSecond ?? RATE_WITHOUT_LIMIT) / 2);
      return [note('messagesPerSecond', half, 30 * MINUTE)];
    }
    case 'ip_reputation':
      return [note('connections', 1, HOUR), note('messagesPerSecond', SLOWEST, HOUR)];
    case 'tls_required':
      return [note('tls', 'required', 7 * 24 * HOUR)];
    case 'ip_blocklisted':
      return [note('suspended', 'yes', context.waitMs)];
    default:
      return [];
  }
}
