/**
 * The settings of a sender domain in the API: one table says for each how it is read from a request and shown in an
 * answer. A new setting is a member of `DomainSettings` (model/domain.ts) with its default, and a row here; POST and
 * PATCH, GET, the reference and the command line follow.
 */
import { z } from 'zod';
import { toALabelDomain } from '../../../mail/address.ts';
import type { DomainSettings, DomainSettingsPatch } from '../../../model/domain.ts';
import { count } from '../answer-schemas.ts';
import { memberGroup } from '../body/issue-text.ts';
import { withoutUndefined } from '../operation.ts';

/** A row; only its types are checked here. */
function setting<Shown extends z.ZodType>(row: {
  /** Reads the value of a request; returns the change. */
  read: z.ZodType<DomainSettingsPatch>;
  /** The schema of the value in an answer. */
  shown: Shown;
  show(settings: DomainSettings): z.output<Shown>;
  /** For the reference: possible values, and their effect. */
  meaning: string;
}) {
  return row;
}

/** Ten years, the longest retention by age. */
const MAX_DAYS = 3650;

const days = (least: number) => z.number().int().min(least).max(MAX_DAYS).nullable().optional();

const recipients = z.number().int().min(0).max(1_000_000_000).nullable().optional();

const DOMAIN_SETTINGS = {
  Subdomains: setting({
    read: z.boolean().transform((subdomains) => ({ subdomains })),
    shown: z.boolean().describe('Its sub-domains may send too'),
    show: (settings) => settings.subdomains,
    meaning: 'true: its sub-domains may send too, except those that were added separately',
  }),
  Retention: setting({
    read: memberGroup({ ContentDays: days(0), EventDays: days(1) }).transform(
      ({ ContentDays, EventDays }) => ({
        retention: withoutUndefined({ contentDays: ContentDays, eventDays: EventDays }),
      }),
    ),
    shown: z
      .object({ ContentDays: count.nullable(), EventDays: count.nullable() })
      .describe('Days; null = as the server is set'),
    show: ({ retention }) => ({ ContentDays: retention.contentDays, EventDays: retention.eventDays }),
    meaning:
      '`{ContentDays, EventDays}`: how long contents (0 = until the last recipient is final) and events are kept; null = as the server is set',
  }),
  RequireTls: setting({
    read: z.boolean().transform((requireTls) => ({ requireTls })),
    shown: z.boolean(),
    show: (settings) => settings.requireTls,
    meaning: 'true: its mail waits if verified TLS is not possible',
  }),
  AtMostOnce: setting({
    read: z.boolean().transform((atMostOnce) => ({ atMostOnce })),
    shown: z.boolean(),
    show: (settings) => settings.atMostOnce,
    meaning:
      'true: a recipient whose outcome is unknown (the connection ended after the message was sent) has failed, instead of being sent a second time',
  }),
  Quota: setting({
    read: memberGroup({ PerMinute: recipients, PerHour: recipients, PerDay: recipients }).transform(
      ({ PerMinute, PerHour, PerDay }) => ({
        quota: withoutUndefined({ minute: PerMinute, hour: PerHour, day: PerDay }),
      }),
    ),
    shown: z
      .object({ PerMinute: count.nullable(), PerHour: count.nullable(), PerDay: count.nullable() })
      .describe('Recipients; null = as the server is set'),
    show: ({ quota }) => ({ PerMinute: quota.minute, PerHour: quota.hour, PerDay: quota.day }),
    meaning:
      '`{PerMinute, PerHour, PerDay}`: recipients it may send to, in windows of UTC; null = as the server is set. Only for a token with the scope `admin`',
  }),
  ReturnPathHost: setting({
    read: z.string().max(255).transform(readReturnPathHost),
    shown: z.string().describe('Empty = the server’s'),
    show: (settings) => settings.returnPathHost ?? '',
    meaning: 'a host of its own for return paths, the domain itself or below it; `""` = the server’s',
  }),
  Tracking: setting({
    read: memberGroup({ Opens: z.boolean().optional(), Clicks: z.boolean().optional() }).transform(
      ({ Opens, Clicks }) => ({
        tracking: withoutUndefined({ opens: Opens, clicks: Clicks }),
      }),
    ),
    shown: z.object({ Opens: z.boolean(), Clicks: z.boolean() }),
    show: ({ tracking }) => ({ Opens: tracking.opens, Clicks: tracking.clicks }),
    meaning: '`{Opens, Clicks}`: the default for mail that does not set it',
  }),
  ListUnsubscribe: setting({
    read: z.boolean().transform((listUnsubscribe) => ({ listUnsubscribe })),
    shown: z.boolean(),
    show: (settings) => settings.listUnsubscribe,
    meaning:
      'true: normal mail that does not say it itself has the one-click unsubscribe header (bulk mail always has it, critical mail never)',
  }),
  TrackingHost: setting({
    read: z.string().max(255).transform(readTrackingHost),
    shown: z.string().describe('Empty = the server’s public URL'),
    show: (settings) => settings.trackingHost ?? '',
    meaning: 'a host below the domain for links and pixels, reached over https; `""` = the public URL',
  }),
};

type Settings = typeof DOMAIN_SETTINGS;
const NAMES = Object.keys(DOMAIN_SETTINGS) as (keyof Settings)[];

/** One value for each setting, under its name. `Values` are the types of these. */
function bySetting<Values extends { [Name in keyof Settings]: unknown }>(
  of: (setting: Settings[keyof Settings]) => Values[keyof Settings],
): Values {
  return Object.fromEntries(NAMES.map((name) => [name, of(DOMAIN_SETTINGS[name])])) as Values;
}

/** The settings as members of a request's schema, all optional; `settingsPatch` joins their changes. */
export const SETTINGS_SHAPE = bySetting<{
  [Name in keyof Settings]: z.ZodOptional<z.ZodType<DomainSettingsPatch>>;
}>(({ read, meaning }) => read.optional().describe(meaning));

/** The settings as members of an answer's schema. */
export const SHOWN_SETTINGS = bySetting<{ [Name in keyof Settings]: Settings[Name]['shown'] }>(
  ({ shown }) => shown,
);

/** The change that a request asks for; null if it names no setting. */
export function settingsPatch(
  body: { [Name in keyof Settings]?: DomainSettingsPatch | undefined },
): DomainSettingsPatch | null {
  const given = NAMES.map((name) => body[name]).filter((patch) => patch !== undefined);
  return given.length === 0 ? null : Object.assign({}, ...given);
}

/** The settings as an answer shows them. */
export function settingsAnswer(settings: DomainSettings) {
  return bySetting<{ [Name in keyof Settings]: z.output<Settings[Name]['shown']> }>(({ show }) =>
    show(settings),
  );
}

/** Names and meanings, for the reference. */
export function settingMeanings(): readonly { name: string; meaning: string }[] {
  return NAMES.map((name) => ({ name, meaning: DOMAIN_SETTINGS[name].meaning }));
}

function readReturnPathHost(text: string, context: z.RefinementCtx): DomainSettingsPatch {
  return { returnPathHost: readHost(text, context, 'bounces') };
}

function readTrackingHost(text: string, context: z.RefinementCtx): DomainSettingsPatch {
  return { trackingHost: readHost(text, context, 'track') };
}

/** A host name, or null for none. */
function readHost(text: string, context: z.RefinementCtx, label: string): string | null {
  if (text.trim() === '') return null;
  const host = toALabelDomain(text.trim());
  if (host !== null) return host;
  context.addIssue({
    code: 'custom',
    message: `give a host name such as ${label}.example.com, or "" for none`,
  });
  return z.NEVER;
}
