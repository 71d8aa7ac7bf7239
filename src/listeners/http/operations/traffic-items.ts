/** Paths, limits, overrides and holds in the words of the API. Pure. */
import type { PathSnapshot, PathWord } from '../../../pipeline/deliver/path/state.ts';
import type { RelayState } from '../../../pipeline/deliver/routing/relay-health.ts';
import type { Hold } from '../../../policy/limits/holds.ts';
import { LIMIT_NAMES } from '../../../policy/limits/shaping/limit-values.ts';
import type { EffectiveLimits, LimitOrigin, Override } from '../../../policy/limits/shaping/types.ts';
import type {
  HoldItem,
  OverrideItem,
  PathItem,
  PathLimitItem,
  PathWordItem,
  RelayItem,
} from '../contract/answers/traffic.ts';
import { isoTime, isoTimeOrNull } from '../route.ts';

/** A path as the API shows it. */
export function toPath(path: PathSnapshot): PathItem {
  return {
    Site: path.site,
    Source: path.source,
    Provider: path.provider,
    Route: path.route,
    Domains: path.domains,
    State: path.breaker.kind,
    Reason: path.reason,
    WaitsFor: path.waitsFor,
    WaitsUntil: isoTimeOrNull(path.waitsUntil),
    Connections: {
      Open: path.connections.open,
      Busy: path.connections.busy,
      Opening: path.connections.opening,
    },
    Window: path.window,
    Limits: toLimits(path.effective),
    Overrides: path.overrides.map(toOverride),
    Waiting: path.waiting,
    InFlight: path.inFlight,
    LastSuccess: toWord(path.lastSuccess),
    LastFailure: toWord(path.lastFailure),
  };
}

/** A relay that failed. */
export function toRelay({ relay, failures, until, why }: RelayState): RelayItem {
  return { Relay: relay, Failures: failures, Until: isoTime(until), Why: why };
}

function toWord(word: PathWord | null): PathWordItem | null {
  return word === null ? null : { At: isoTime(word.at), Text: word.text };
}

/** Every limit with where its value comes from, in the order of the table of limits. */
export function toLimits({ limits, origins }: EffectiveLimits): PathLimitItem[] {
  return LIMIT_NAMES.map((name) => {
    const origin = origins[name];
    return {
      Name: name,
      Value: limits[name],
      From: origin.kind,
      Detail: detailOf(origin),
      Until: origin.kind === 'override' ? isoTime(origin.until) : null,
    };
  });
}

function detailOf(origin: LimitOrigin): string {
  if (origin.kind === 'config') return origin.key;
  return origin.kind === 'override' ? origin.rule : origin.row;
}

/** An override in force. */
export function toOverride(override: Override): OverrideItem {
  return {
    OverrideID: override.id,
    Scope: override.scope,
    Key: override.key,
    Param: override.param,
    Value: override.value,
    Until: isoTime(override.until),
    Rule: override.rule,
    Why: override.why,
    CreatedAt: isoTime(override.createdAt),
  };
}

/** A hold in force. */
export function toHold(hold: Hold): HoldItem {
  return {
    HoldID: hold.id,
    SenderDomain: hold.senderDomain,
    RecipientDomain: hold.recipientDomain,
    Site: hold.site,
    Priority: hold.lane,
    Reason: hold.reason,
    Until: isoTimeOrNull(hold.until),
    CreatedAt: isoTime(hold.createdAt),
  };
}
