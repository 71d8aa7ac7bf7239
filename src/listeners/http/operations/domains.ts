/**
 * Sender domains: list, add, show with the DNS records to publish, check now, change, rotate the key, remove. A token
 * acts only on its own domains; only a token for all domains can add one that no token names. A check queries the DNS
 * of others, so each domain may be checked once in ten seconds.
 */

import { z } from 'zod';
import { BoundedMap } from '../../../lib/bounded-map.ts';
import { AppError } from '../../../lib/errors.ts';
import { aLabels, toALabelDomain } from '../../../mail/address.ts';
import { isAtOrBelow } from '../../../mail/address-text.ts';
import type { DkimKey, Domain, DomainSettingsPatch } from '../../../model/domain.ts';
import type { Caller } from '../../../model/submission.ts';
import { createHashTurns } from '../../../policy/access/password-hash.ts';
import {
  callerDomains,
  lineOf,
  mayActOn,
  requireAllDomains,
  requireScope,
} from '../../../policy/access/rights.ts';
import { zoneSnippet } from '../../../policy/domains/dns-records.ts';
import { checksOf, heldFrom } from '../../../policy/domains/domain-status.ts';
import { RETIRED_FOR_MS } from '../../../policy/domains/key-rotation.ts';
import { type GuardStanding, HOLD, WARN } from '../../../policy/limits/guard-rails.ts';
import { type Answer, count, nothing, pageOf, time } from '../answer-schemas.ts';
import type { ApiParts } from '../deps.ts';
import { operation, withHeaders, withoutUndefined } from '../operation.ts';
import { paging } from '../paging.ts';
import { text } from '../query.ts';
import { type ApiRoute, BASE, existing, invalidParameter, isoTime, isoTimeOrNull, refuse } from '../route.ts';
import { createSlots, inSlot } from '../streams/slots.ts';
import {
  alignment,
  alignmentOf,
  change,
  changeItems,
  check,
  domainStatus,
  toCheckItem,
} from './domain-checks.ts';
import { SETTINGS_SHAPE, SHOWN_SETTINGS, settingsAnswer, settingsPatch } from './domain-settings.ts';

const dnsRecord = z
  .object({
    Type: z.string(),
    Host: z.string(),
    Value: z.string(),
    Purpose: z.string(),
    Required: z.boolean().describe('Without it the domain is not verified, or its mail is held'),
    Need: z
      .enum(['Required', 'Recommended', 'Optional'])
      .describe('Recommended: mail is sent without it, and fares worse'),
    Why: z.string().describe('What it is for, and what follows without it'),
    Status: z
      .enum(['Unknown', 'Ok', 'Warning', 'Failed'])
      .describe('Unknown before the first check, and for records that are only suggested'),
  })
  .meta({ id: 'DnsRecord', description: 'A record to publish' });

const dkimKey = z
  .object({
    Selector: z.string(),
    Role: z
      .enum(['Active', 'Standby', 'Retired'])
      .describe('Active signs; Standby waits for the next rotation; Retired signed before'),
    CreatedAt: time,
    RetiredAt: time.nullable(),
    KeepUntil: time
      .nullable()
      .describe('Retired: its record stays published until then, and a new standby key replaces it'),
  })
  .meta({ id: 'DomainDkimKey' });

const counts = z.object({ Bounced: count, Complained: count });

const returns = z
  .object({
    Level: z.enum(['Ok', 'Warn', 'Hold']).describe('Hold: its bulk mail waits'),
    Outcomes: count,
    Bounced: count.describe('Addresses; those that differ only after a plus sign count once'),
    Complained: count.describe('Counted in the same way'),
    WarnAbove: counts,
    HoldAbove: counts,
    Reason: z.string(),
  })
  .meta({ id: 'DomainReturns', description: 'What came back of the last 1000 outcomes' });

const domainAnswer = z
  .object({
    Domain: z.string(),
    Status: domainStatus,
    VerifiedBy: z.enum(['dns', 'operator']).nullable(),
    ...SHOWN_SETTINGS,
    CreatedAt: time,
    UpdatedAt: time,
    VerifiedAt: time.nullable(),
    FailingSince: time.nullable(),
    HeldFrom: time.nullable().describe('Failing: when its mail is held, if its checks still fail'),
    LastCheckedAt: time.nullable(),
    DnsRecords: z.array(dnsRecord),
    Zone: z.string().describe('The records as lines of a zone file'),
    DkimKeys: z.array(dkimKey),
    Alignment: alignment.nullable().describe('As the last check found it; null = not yet'),
    Checks: z.array(check).describe('What the last check found, item by item; empty before the first'),
    Changes: z.array(change).describe('What changed between checks lately, newest first'),
    Returns: returns.nullable().describe('null: nothing came back lately'),
  })
  .meta({ id: 'Domain' });

const VERIFY_EVERY_MS = 10_000;
/** Each asks for dozens of records, which all wait where the name servers of a domain do not answer; deliveries ask, too. */
const CHECKS = { perToken: 5, perTenant: 5, total: 20 };
const MAX_REMEMBERED = 10_000;
const PAGES = paging('domains', z.string(), ({ name }: { name: string }) => name);
/** With the number behind it, the first part of the name of a TXT record. */
const SELECTOR = /^[a-z0-9][a-z0-9-]{0,31}$/;
/** Names that one read of a search looks at. */
const LOOK = 4_000;

const NEW_DOMAIN = z.object({
  Domain: z.string({ error: 'a domain name is required' }).max(255),
  Verified: z.boolean().optional().describe('Admin tokens of all domains only: skips the DNS proof'),
  DkimSelector: z
    .string()
    .trim()
    .toLowerCase()
    .regex(SELECTOR, {
      error: 'give up to 32 letters, digits and hyphens, such as "news", without a hyphen in front',
    })
    .optional()
    .describe('How the selectors of its keys begin: `news` makes `news1`, `news2`, …; default `pr`'),
  ...SETTINGS_SHAPE,
});

const SETTINGS = z.object({
  ...SETTINGS_SHAPE,
  DkimSelector: z
    .unknown()
    .refine((value) => value === undefined, {
      error: 'it is chosen when the domain is added',
      params: { problem: 'field-unavailable' },
    })
    .optional()
    .meta({ deprecated: true, description: 'Refused: it is chosen when the domain is added' }),
});

export function domainOperations({ domains, guard, clock, createOnce }: ApiParts): readonly ApiRoute[] {
  /** When each domain was checked last, monotonic; the oldest are forgotten first. */
  const checkedAtMs = new BoundedMap<string, number>(MAX_REMEMBERED);
  /** Keys of one domain are made at a time: that takes threads of the pool that also signs mail. */
  const inTurn = createHashTurns().lane({ maxRunning: 1 });
  const checkSlots = createSlots({ ...CHECKS, what: 'domains are checked' });

  return [
    operation('GET /domains', {
      id: 'listDomains',
      scope: 'domains:read',
      summary: 'List sender domains',
      description: 'Sender domains by name, a page. `Search`: a part of the name',
      query: { Search: text('A part of the name', 255), ...PAGES.query },
      answer: pageOf('DomainList', domainAnswer),
      handle: async ({ caller, query, visible, request }) => {
        const search = aLabels(query.Search ?? '');
        if (search !== '') {
          const wanted = { ...visible, search, look: LOOK };
          return PAGES.search(request, query, toAnswer, async (after, limit) => {
            const found = await domains.search({ ...wanted, ...withoutUndefined({ after }), limit });
            return { rows: found.domains, next: found.next };
          });
        }
        const part = { ...withoutUndefined({ after: query.After }), limit: query.Limit + 1 };
        const rows = await domains.list(callerDomains(caller), part);
        return PAGES.pageOf(rows, query, toAnswer);
      },
    }),
    operation('POST /domains', {
      id: 'createDomain',
      scope: 'domains:write',
      summary: 'Add a sender domain',
      description:
        '`{Domain}` and [settings](#settings-of-a-domain): makes two DKIM keys and answers 201 with the `DnsRecords` to publish. `Verified: true`, from a token with the scope `admin` for all domains, skips the DNS proof',
      body: { schema: NEW_DOMAIN, example: { Domain: 'news.example.com', Subdomains: false } },
      status: 201,
      answer: domainAnswer,
      headers: { Location: 'Address of the domain' },
      once: createOnce,
      errors: ['domain-exists', 'domain-invalid', 'from-domain-not-allowed'],
      handle: async ({ caller, body, key }) => {
        const name = toALabelDomain(body.Domain.trim());
        if (name === null) {
          throw new AppError('domain-invalid', {
            field: '/Domain',
            message: `"${body.Domain.slice(0, 100)}" is not a domain name such as example.com`,
          });
        }
        if (!mayActOn(caller, name)) {
          throw new AppError('from-domain-not-allowed', {
            field: '/Domain',
            message:
              caller.session === undefined
                ? 'This token does not hold that domain'
                : 'Your rights do not include that domain: ask an operator to add it',
          });
        }
        // Only the operator's declaration can replace the DNS proof.
        if (body.Verified === true) requireOperator(caller);
        const wanted = {
          name,
          operatorVerified: body.Verified === true,
          settings: allowedPatch(caller, name, settingsPatch(body) ?? {}),
          ...withoutUndefined({ selectorPrefix: body.DkimSelector }),
          ...withoutUndefined({ idempotency: key && ((made: Domain) => key(toAnswer(made))) }),
        };
        // An operator may add a long list.
        const asker = callerDomains(caller) === undefined ? name : lineOf(caller);
        const domain = await inTurn(asker, () => domains.add(wanted));
        return withHeaders(toAnswer(domain), { location: `${BASE}/domains/${domain.name}` });
      },
    }),
    operation('GET /domains/:name', {
      id: 'getDomain',
      scope: 'domains:read',
      summary: 'Show a sender domain',
      description:
        'One domain with its records, what the last check found (`Checks`) and what changed lately (`Changes`)',
      answer: domainAnswer,
      handle: async ({ caller, params }) => toAnswer(await ownDomain(domains, caller, params.name)),
    }),
    operation('PATCH /domains/:name', {
      id: 'updateDomain',
      scope: 'domains:write',
      summary: 'Change settings of a sender domain',
      description:
        'Changes [settings](#settings-of-a-domain) and answers with the domain. Settings that are not named stay',
      body: { schema: SETTINGS, example: { ListUnsubscribe: true } },
      answer: domainAnswer,
      errors: ['field-unavailable'],
      handle: async ({ caller, params, body }) => {
        const { name } = await ownDomain(domains, caller, params.name);
        const patch = settingsPatch(body);
        if (patch === null) {
          const names = Object.keys(SETTINGS_SHAPE).join(', ');
          throw refuse('invalid-parameter', `Name a setting to change: ${names}`);
        }
        return toAnswer(await domains.update(name, allowedPatch(caller, name, patch)));
      },
    }),
    operation('POST /domains/:name/dkim/rotate', {
      id: 'rotateDkimKey',
      scope: 'domains:write',
      summary: 'Sign with the standby key',
      description:
        'Signs with the standby key from now on, and answers with the domain. 409 unless that key is found in the DNS. The old key has to stay published for 7 days; then a new standby key takes its place in `DnsRecords`',
      answer: domainAnswer,
      errors: ['key-not-published'],
      handle: async ({ caller, params }) => {
        const domain = await ownDomain(domains, caller, params.name);
        return inSlot(checkSlots, caller, async () =>
          toAnswer(await domains.rotateKey(domain.name, () => takeTurn(domain.name))),
        );
      },
    }),
    operation('DELETE /domains/:name', {
      id: 'deleteDomain',
      scope: 'domains:write',
      summary: 'Remove a sender domain',
      description:
        'Removes the domain and its keys: `{}`. Its waiting mail is held. A domain with a `Quota` can be removed only with an admin token of all domains',
      answer: nothing,
      handle: async ({ caller, params }) => {
        const domain = await ownDomain(domains, caller, params.name);
        // A domain that is removed and added again would have no quota.
        if (Object.values(domain.settings.quota).some((limit) => limit !== null)) requireOperator(caller);
        existing(await domains.remove(domain.name));
        return {};
      },
    }),
    operation('POST /domains/:name/verify', {
      id: 'verifyDomain',
      scope: 'domains:write',
      summary: 'Check the DNS of a sender domain now',
      description: `Looks up the DNS records now, at most once in 10 seconds per domain, and ${CHECKS.perToken} domains at once`,
      answer: domainAnswer,
      handle: async ({ caller, params }) => {
        const domain = await ownDomain(domains, caller, params.name);
        return inSlot(checkSlots, caller, async () => {
          takeTurn(domain.name);
          const { domain: checked } = await domains.verify(domain.name, { fresh: true });
          return toAnswer(checked);
        });
      },
    }),
  ];

  /** Throws AppError rate-limited. */
  function takeTurn(name: string): void {
    const now = clock.monotonicMs();
    const last = checkedAtMs.get(name);
    if (last !== undefined && now - last < VERIFY_EVERY_MS) {
      throw new AppError('rate-limited', {
        message: 'A domain is checked at most once in 10 seconds',
        retryAfterSeconds: (VERIFY_EVERY_MS - (now - last)) / 1000,
      });
    }
    checkedAtMs.set(name, now);
  }

  function toAnswer(domain: Domain): Answer<typeof domainAnswer> {
    const found = checksOf(domain) ?? [];
    const checks = found.map(toCheckItem);
    const records = domains.records(domain);
    const statusOf = new Map(checks.map((check) => [`${check.Type} ${check.Host}`, check.Status]));
    return {
      Domain: domain.name,
      Status: domain.status,
      VerifiedBy: domain.verifiedBy,
      ...settingsAnswer(domain.settings),
      CreatedAt: isoTime(domain.createdAt),
      UpdatedAt: isoTime(domain.updatedAt),
      VerifiedAt: isoTimeOrNull(domain.verifiedAt),
      FailingSince: isoTimeOrNull(domain.failingSince),
      HeldFrom: isoTimeOrNull(heldFrom(domain)),
      LastCheckedAt: isoTimeOrNull(domain.lastCheckedAt),
      DnsRecords: records.map(
        (record): Answer<typeof dnsRecord> => ({
          Type: record.Type,
          Host: record.Host,
          Value: record.Value,
          Purpose: record.Purpose,
          Required: record.Need === 'Required',
          Need: record.Need,
          Why: record.Why,
          Status: statusOf.get(`${record.Type} ${record.Host}`) ?? 'Unknown',
        }),
      ),
      Zone: zoneSnippet(records),
      DkimKeys: domain.keys.map(toKey),
      Alignment: alignmentOf(found),
      Checks: checks,
      Changes: changeItems(domain),
      Returns: toReturns(guard.standing(domain.name)),
    };
  }
}

/** Throws AppError scope-missing unless it is an administrator of all domains. */
function requireOperator(caller: Caller): void {
  requireScope(caller, 'admin');
  requireAllDomains(caller);
}

/** The operator grants quotas: nobody can raise their own. */
function allowedPatch(caller: Caller, domain: string, patch: DomainSettingsPatch): DomainSettingsPatch {
  if (patch.quota !== undefined) requireOperator(caller);
  return ownHosts(domain, patch);
}

/** A return path under another name would claim where bounces of others go, and would not be aligned. */
function ownHosts(domain: string, patch: DomainSettingsPatch): DomainSettingsPatch {
  const bounces = patch.returnPathHost ?? domain;
  if (!isAtOrBelow(bounces, domain)) {
    throw invalidParameter(
      `ReturnPathHost: give ${domain} or a host below it, such as bounces.${domain}`,
      'ReturnPathHost',
    );
  }
  // A CNAME excludes other records, so the domain itself cannot be one.
  const links = patch.trackingHost ?? null;
  if (links !== null && !links.endsWith(`.${domain}`)) {
    throw invalidParameter(
      `TrackingHost: give a host below the domain, such as track.${domain}`,
      'TrackingHost',
    );
  }
  return patch;
}

const ROLES = { active: 'Active', standby: 'Standby', retired: 'Retired' } as const;

function toKey({ selector, role, createdAt, retiredAt }: DkimKey): Answer<typeof dkimKey> {
  return {
    Selector: selector,
    Role: ROLES[role],
    CreatedAt: isoTime(createdAt),
    RetiredAt: isoTimeOrNull(retiredAt),
    KeepUntil: isoTimeOrNull(retiredAt === null ? null : retiredAt + RETIRED_FOR_MS),
  };
}

const LEVELS = { ok: 'Ok', warn: 'Warn', hold: 'Hold' } as const;

function toReturns(standing: GuardStanding | null): Answer<typeof returns> | null {
  if (standing === null) return null;
  return {
    Level: LEVELS[standing.level],
    Outcomes: standing.outcomes,
    Bounced: standing.bounced,
    Complained: standing.complained,
    WarnAbove: { Bounced: WARN.bounced, Complained: WARN.complained },
    HoldAbove: { Bounced: HOLD.bounced, Complained: HOLD.complained },
    Reason: standing.reason,
  };
}

/** The domain that a path names. Throws AppError not-found, also if it is another's. */
export async function ownDomain(
  domains: Pick<ApiParts['domains'], 'get'>,
  caller: Caller,
  given: string,
): Promise<Domain> {
  const name = toALabelDomain(given.trim());
  return existing(name !== null && mayActOn(caller, name) && (await domains.get(name)));
}
