/** Schemas of the answers about what slows, stops or keeps back delivery. */
import { z } from 'zod';
import type {
  HoldItem,
  HoldsAnswer,
  OverrideItem,
  OverridesAnswer,
  PathItem,
  PathLimitItem,
  PathsAnswer,
  PathWordItem,
  RelayItem,
  ReleaseAnswer,
  SiteAnswer,
  TryAnswer,
} from '../answers/traffic.ts';
import { priority } from './email.ts';
import { exactly } from './exactly.ts';
import { reasons } from './operator.ts';
import { count, pageOf, time } from './shared.ts';

const value = z.union([z.number(), z.string()]);

const limit = exactly<PathLimitItem>()(
  z
    .object({
      Name: z.string(),
      Value: value.nullable().describe('null = no limit'),
      From: z
        .enum(['data', 'user', 'config', 'override'])
        .describe('data: a shipped row; user: shaping.json of the operator; config: a key'),
      Detail: z.string().describe('The row, the key, or the rule of the override'),
      Until: time.nullable().describe('When an override ends'),
    })
    .meta({ id: 'PathLimit' }),
);

const override = exactly<OverrideItem>()(
  z
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
    .meta({ id: 'Override' }),
);

export const overridesAnswer = exactly<OverridesAnswer>()(pageOf('OverridesAnswer', override));

export const holdItem = exactly<HoldItem>()(
  z
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
    .meta({ id: 'Hold' }),
);

export const holdsAnswer = exactly<HoldsAnswer>()(pageOf('HoldsAnswer', holdItem));

export const releaseAnswer = exactly<ReleaseAnswer>()(
  z.object({ Released: count.describe('Holds that were ended') }).meta({ id: 'ReleaseAnswer' }),
);

const word = exactly<PathWordItem>()(z.object({ At: time, Text: z.string() }).meta({ id: 'PathWord' }));

const path = exactly<PathItem>()(
  z
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
      Connections: z.object({ Open: count, Busy: count, Opening: count }),
      Window: z.number().describe('Connections that experience allows at the moment'),
      Limits: z.array(limit),
      Overrides: z.array(override),
      Waiting: z
        .object({ critical: count, normal: count, bulk: count })
        .describe('Held in memory and not being sent, by priority'),
      InFlight: count,
      LastSuccess: word.nullable(),
      LastFailure: word.nullable(),
    })
    .meta({ id: 'Path', description: 'An egress source towards a site' }),
);

const relay = exactly<RelayItem>()(
  z
    .object({
      Relay: z.string().describe('host:port'),
      Failures: count.describe('In a row'),
      Until: time.describe('Tried again then; before, only where nothing else is left'),
      Why: z.string(),
    })
    .meta({ id: 'Relay', description: 'A relay that failed and is passed over' }),
);

export const pathsAnswer = exactly<PathsAnswer>()(
  pageOf('PathsAnswer', path)
    .extend({ Relays: z.array(relay).describe('Those that failed, on every page') })
    .meta({ id: 'PathsAnswer' }),
);

export const tryAnswer = exactly<TryAnswer>()(
  z
    .object({
      Tried: count.describe('Paths and relays that were closed and are tried now'),
      Paths: z.array(path).describe('As they are now'),
      Relays: z.array(relay),
    })
    .meta({ id: 'TryAnswer' }),
);

export const siteAnswer = exactly<SiteAnswer>()(
  z
    .object({
      Site: z.string(),
      Note: z.string().describe('Where no path is in use: what that means; else empty'),
      Paths: z.array(path),
      Relays: z.array(relay).describe('Relays of the site that failed'),
      Limits: z.array(limit).describe('Limits where there is no path yet'),
      Holds: z.array(holdItem),
      Waiting: count.describe('Recipients in the store, of the site’s domains'),
      Complete: z.boolean().describe('false: more wait than were counted'),
      Reasons: reasons,
    })
    .meta({ id: 'Site' }),
);
