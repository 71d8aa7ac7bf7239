/** The possible values of each limit, and which of two values is stricter. Used by the files and the overrides. */
import type { LimitName, PathLimits } from './types.ts';

interface LimitFacts {
  /** For people: the format of a value. */
  form: string;
  meaning: string;
  valid(value: unknown): boolean;
}

/** Every limit, in the order in which they are shown. */
export const LIMITS: { readonly [Name in LimitName]: LimitFacts } = {
  connections: whole(1, 1000, 'connections from one source to the site at a time'),
  providerConnections: orNull(
    whole(1, 5000, 'connections from one source to all sites of the provider together'),
  ),
  messagesPerConnection: whole(1, 100_000, 'messages before a connection is closed'),
  connectionAgeMs: whole(1000, 3_600_000, 'milliseconds a connection is used for'),
  idleMs: whole(100, 600_000, 'milliseconds an unused connection stays open'),
  newConnectionsPerMinute: orNull(number(0.01, 60_000, 'connections opened within a minute')),
  messagesPerSecond: orNull(number(0.0001, 10_000, 'messages a second; 0.0167 is one a minute')),
  recipientsPerTransaction: whole(1, 1000, 'recipients of one message that may share a transaction'),
  transactionsInFlight: whole(
    1,
    16,
    'messages on one connection that may be unanswered, if the remote server offers CHUNKING and PIPELINING and its round trip is 5 ms or more; 1 = one at a time',
  ),
  tls: {
    form: '`opportunistic` or `required`',
    meaning: 'whether mail is sent unencrypted if the remote server offers no TLS',
    valid: (value) => value === 'opportunistic' || value === 'required',
  },
};

export const LIMIT_NAMES = Object.keys(LIMITS) as readonly LimitName[];

/** Whether a text names a limit. */
export function isLimitName(name: string): name is LimitName {
  return Object.hasOwn(LIMITS, name);
}

/** Whether `candidate` is stricter than `current`. null is no limit. */
export function isStricter<Name extends LimitName>(
  name: Name,
  candidate: PathLimits[Name],
  current: PathLimits[Name],
): boolean {
  if (name === 'tls') return candidate === 'required' && current !== 'required';
  if (candidate === null) return false;
  return current === null || Number(candidate) < Number(current);
}

function whole(low: number, high: number, meaning: string): LimitFacts {
  return {
    form: `a whole number from ${low} to ${high}`,
    meaning,
    valid: (value) => Number.isInteger(value) && Number(value) >= low && Number(value) <= high,
  };
}

function number(low: number, high: number, meaning: string): LimitFacts {
  return {
    form: `a number from ${low} to ${high}`,
    meaning,
    valid: (value) => typeof value === 'number' && value >= low && value <= high,
  };
}

function orNull(facts: LimitFacts): LimitFacts {
  return {
    ...facts,
    form: `${facts.form}, or null for no limit`,
    valid: (value) => value === null || facts.valid(value),
  };
}
