/** Paths, limits, overrides and holds as the API shows them. */
import { z } from 'zod';
import type { PathSnapshot, PathWord } from '../../../pipeline/deliver/path/state.ts';
import type { RelayState } from '../../../pipeline/deliver/routing/relay-health.ts';
import type { Hold } from '../../../policy/limits/holds.ts';
import { LIMIT_NAMES } from '../../../policy/limits/shaping/limit-values.ts';
import type { EffectiveLimits, LimitOrigin, Override } from '../../../policy/limits/shaping/types.ts';
import type { WaitingReason } from '../../../store/topics/queue.ts';
import { type Answer, count, priority, time } from '../answer-schemas.ts';
import { isoTime, isoTimeOrNull } from '../route.ts';

const value = z.union([z.number(), z.string()]);

export const limitItem = z
  .object({
    Name: z.string(),
    Value: value.nullable().describe('null = no limit'),
    From: z
      .enum(['data', 'user', 'config', 'override'])
      .describe('data: a shipped row; user: shaping.json of the operator; config: a key'),
    Detail: z.string().describe('The row, the key, or the rule of the override'),
    Until: time.nullable().describe('When an override ends'),
  })
  .meta({ id: 'PathLimit' });

export const overrideItem = z
  .object({
    OverrideID: z.string(),
    Scope: z.enum(['path', 'tenant@site', 'domain@provider']),
    Key: z.string(),
    Param: z.string(),
    Value: value,
    Until: time,
    Rule: z.string(),
    Why: z.string(),
    CreatedAt: time,
  })
  .meta({ id: 'Override' });

export const holdItem = z
  .object({
    HoldID: z.string(),
    SenderDomain: z.string().nullable().describe('null does not restrict; the same for the next three'),
    RecipientDomain: z.string().nullable(),
    Site: z.string().nullable(),
    Priority: priority.nullable(),
    Reason: z.string(),
    Until: time.nullable().describe('null = until it is released'),
    CreatedAt: time,
  })
  .meta({ id: 'Hold' });

const pathWord = z.object({ At: time, Text: z.string() }).meta({ id: 'PathWord' });

export const pathItem = z
  .object({
    Site: z.string(),
    Source: z.string().describe('Empty where no source is configured'),
    Provider: z.string().nullable(),
    Route: z.enum(['mx', 'relay']),
    Domains: z.array(z.string()).describe('Recipient domains met on it, the last ones'),
    State: z.enum(['closed', 'open', 'half-open']).describe('Of the breaker: open = nothing goes'),
    Reason: z.string().nullable().describe('Why what waits does not go; null where nothing holds it back'),
    WaitsFor: z.string(),
    WaitsUntil: time.nullable().describe('When that ends by itself'),
    Connections: z.object({
      Open: count,
      Busy: count,
      Hanging: count.describe('Their servers have not answered for longer than usual; not among Busy'),
      Opening: count,
    }),
    Window: z.number().describe('Connections that are allowed at present'),
    Limits: z.array(limitItem),
    Overrides: z.array(overrideItem),
    Waiting: z
      .object({ critical: count, normal: count, bulk: count })
      .describe('Held in memory and not being sent, by priority'),
    InFlight: count,
    LastSuccess: pathWord.nullable(),
    LastFailure: pathWord.nullable(),
  })
  .meta({ id: 'Path', description: 'An egress source towards a site' });

export const relayItem = z
  .object({
    Relay: z.string().describe('host:port'),
    Failures: count.describe('In a row'),
    Until: time.describe('Tried again then; before, only where nothing else is left'),
    Why: z.string(),
  })
  .meta({ id: 'Relay', description: 'A relay that failed and is passed over' });

export const reasons = z.array(
  z.object({
    Reason: z.string(),
    Count: count,
    Reply: z.string().nullable().describe('What the receiver said to one of them, if a reply deferred them'),
  }),
);

export function toReason({ reason, count, reply }: WaitingReason): Answer<typeof reasons>[number] {
  return { Reason: reason, Count: count, Reply: reply };
}

export function toPath(path: PathSnapshot): Answer<typeof pathItem> {
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
      Hanging: path.connections.hanging,
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

export function toRelay({ relay, failures, until, why }: RelayState): Answer<typeof relayItem> {
  return { Relay: relay, Failures: failures, Until: isoTime(until), Why: why };
}

function toWord(word: PathWord | null): Answer<typeof pathWord> | null {
  return word === null ? null : { At: isoTime(word.at), Text: word.text };
}

/** Every limit with where its value comes from, in the order of the table of limits. */
export function toLimits({ limits, origins }: EffectiveLimits): Answer<typeof limitItem>[] {
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

export function toOverride(override: Override): Answer<typeof overrideItem> {
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

export function toHold(hold: Hold): Answer<typeof holdItem> {
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
