/**
 * The suppression list (api.md §3): to whom a sender domain does not send, and why. List, add up to a thousand at once,
 * look one address up, lift it. Every operation acts on the caller's domains; an address may stand there for several
 * reasons, each with its own end, so it is looked up and lifted as a whole or by `Reason`.
 */

import { z } from 'zod';
import type { Clock } from '../../../lib/clock.ts';
import { uuidv7 } from '../../../lib/ids.ts';
import type { Random } from '../../../lib/random.ts';
import { parseAddress } from '../../../mail/address.ts';
import { SUPPRESSION_REASONS, type Suppression, type SuppressionReason } from '../../../model/suppression.ts';
import { pickDomain } from '../../../policy/access/access.ts';
import { expiryOf } from '../../../policy/suppressions/suppressions.ts';
import type { Store } from '../../../store/store.ts';
import type { NewSuppression } from '../../../store/topics/suppressions.ts';
import type { Page } from '../contract/answers/page.ts';
import type {
  SuppressionAnswer,
  SuppressionDetail,
  SuppressionsAdded,
} from '../contract/answers/suppressions.ts';
import { instant } from '../contract/instant.ts';
import { propertyTable, readProperties } from '../contract/json-properties.ts';
import { suppressionDetail, suppressionList, suppressionsAdded } from '../contract/schemas/domains.ts';
import { nothing } from '../contract/schemas/problem.ts';
import { DOMAIN, PAGE, SINCE, text } from '../contract/schemas/query.ts';
import { type CreateOnce, withEntry } from '../create-once.ts';
import { readJsonBody } from '../json-request.ts';
import { gather, looksOf } from '../looks.ts';
import {
  type ApiRequest,
  type ApiRoute,
  invalidParameter,
  isoTime,
  isoTimeOrNull,
  json,
  pageLimit,
  queryAddress,
  queryInteger,
  queryText,
  queryTime,
  refuse,
} from '../route.ts';
import { listedDomains } from '../tenancy.ts';

const MAX_ITEMS = 1000;
/** Entries that one read looks at: some milliseconds. */
const LOOK = 4_000;
const MAX_NOTE_CHARS = 256;

const reasons = new Map(SUPPRESSION_REASONS.map((reason) => [reason.toLowerCase(), reason]));
const REASON_LIST = SUPPRESSION_REASONS.join(', ');
const REASON = z.enum(SUPPRESSION_REASONS).optional();
const ITEM = propertyTable(['Email', 'Reason', 'Note', 'ExpiresAt']);

const item = z.preprocess(
  (value) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
    const given = readProperties(value as Record<string, unknown>, ITEM, false, () => {});
    return Object.fromEntries(ITEM.names.map((name, i) => [name, given[i]]));
  },
  z.object({
    Email: z.string({ error: 'an address is required' }).transform((text, context) => {
      const parsed = parseAddress(text);
      if (parsed.ok) return parsed.address.text;
      context.addIssue({ code: 'custom', message: `the address ${parsed.problem}` });
      return z.NEVER;
    }),
    Reason: z
      .string()
      .max(32)
      .transform((text, context) => {
        const reason = reasons.get(text.toLowerCase());
        if (reason !== undefined) return reason;
        context.addIssue({ code: 'custom', message: `is one of ${REASON_LIST}` });
        return z.NEVER;
      })
      .meta({ enum: SUPPRESSION_REASONS })
      .optional(),
    Note: z.string().max(MAX_NOTE_CHARS).optional(),
    ExpiresAt: instant.optional(),
  }),
);

const NEW_SUPPRESSIONS = z.object({
  Items: z
    .array(item, { error: 'a list of {Email, Reason?, Note?, ExpiresAt?} is required' })
    .min(1)
    .max(MAX_ITEMS),
  Domain: z.string().max(255).optional(),
});

/** The suppression routes. */
export function suppressionRoutes(deps: {
  store: Store;
  clock: Clock;
  random: Random;
  createOnce: CreateOnce;
}): readonly ApiRoute[] {
  const { store, clock, random, createOnce } = deps;

  return [
    {
      method: 'GET',
      path: '/suppressions',
      scope: 'suppressions:read',
      limitedTokens: true,
      contract: {
        id: 'listSuppressions',
        summary: 'List who is not sent to',
        description:
          'Addresses that are not sent to, newest first, a page: `{Email, Domain, Reason, Note, CreatedAt, ExpiresAt, MessageID, Reply, Rule}`. `Reason`, `Since`, `Email`, `Domain`',
        query: { Email: text('Address'), Reason: REASON, ...SINCE, ...DOMAIN, ...PAGE },
        answer: suppressionList,
      },
      handle: async (request) => {
        const { query } = request;
        const limit = pageLimit(query);
        const address = queryAddress(query, 'Email');
        const reason = queryReason(query);
        const since = queryTime(query, 'Since');
        const after = queryInteger(query, 'After', { min: 1, max: Number.MAX_SAFE_INTEGER, fallback: 0 });
        const filter = {
          ...listedDomains(request),
          ...(address === undefined ? {} : { address }),
          ...(reason === undefined ? {} : { reason }),
          ...(since === undefined ? {} : { since }),
          now: clock.now(),
          limit: limit + 1,
          look: LOOK,
        };
        const { rows, next } = await gather(
          looksOf(request),
          limit,
          after === 0 ? undefined : after,
          async (beforeId) => {
            const place = beforeId === undefined ? {} : { beforeId };
            const { suppressions, nextId } = await store.listSuppressions({ ...filter, ...place });
            return { rows: suppressions, next: nextId };
          },
          ({ id }) => id,
        );
        const answer: Page<SuppressionAnswer> = {
          Items: rows.map(toAnswer),
          HasMore: next !== null,
          NextCursor: next === null ? null : String(next),
        };
        return json(answer);
      },
    },
    {
      method: 'POST',
      path: '/suppressions',
      scope: 'suppressions:write',
      limitedTokens: true,
      contract: {
        id: 'addSuppressions',
        summary: 'Stop sending to addresses',
        description:
          '`{Items: [{Email, Reason?, Note?, ExpiresAt?}]}`, at most 1000, and `Domain` where the token holds several: `{Added, Existing}`. `Reason` is Bounce, Inactive, SoftBounces, Complaint, Unsubscribe or Manual (the default); without `ExpiresAt` Inactive holds 90 days, SoftBounces 30, the others until they are removed. Takes `Idempotency-Key`',
        body: {
          schema: NEW_SUPPRESSIONS,
          example: { Items: [{ Email: 'former@example.net', Note: 'asked by telephone' }] },
        },
        answer: suppressionsAdded,
        idempotent: true,
        errors: ['domain-ambiguous', 'not-found'],
      },
      handle: (request) =>
        createOnce(request, 'POST /suppressions', async (key) => {
          const body = readJsonBody(request, NEW_SUPPRESSIONS);
          const domain = pickDomain(request.caller, body.Domain);
          const now = clock.now();
          const entries = body.Items.map((given, i): NewSuppression => {
            const reason = given.Reason ?? 'Manual';
            if (given.ExpiresAt !== undefined && given.ExpiresAt <= now) {
              throw invalidParameter('ExpiresAt lies in the past', `Items/${i}/ExpiresAt`);
            }
            return {
              address: given.Email,
              reason,
              note: (given.Note ?? '').toWellFormed(),
              expiresAt: given.ExpiresAt ?? expiryOf(reason, now),
              source: null,
            };
          });
          const { added, existing } = await store.addSuppressions({
            domain,
            entries,
            now,
            ...withEntry(key, (make) => make(200, { Added: '$added', Existing: '$existing' })),
          });
          const answer: SuppressionsAdded = { Added: added, Existing: existing };
          return json(answer);
        }),
    },
    {
      method: 'GET',
      path: '/suppressions/:email',
      scope: 'suppressions:read',
      limitedTokens: true,
      contract: {
        id: 'getSuppression',
        summary: 'Show why an address is not sent to',
        description:
          'Why an address (percent-encoded) is not sent to: `{Email, Domain, Entries}`, an entry per reason',
        query: DOMAIN,
        answer: suppressionDetail,
        errors: ['domain-ambiguous'],
      },
      handle: async (request) => {
        const { domain, address } = asked(request);
        const found = await store.suppressedAmong({ domain, addresses: [address], now: clock.now() });
        if (found.length === 0) throw refuse('not-found');
        const answer: SuppressionDetail = {
          Email: address,
          Domain: domain,
          Entries: found.map(({ suppression }) => toAnswer(suppression)),
        };
        return json(answer);
      },
    },
    {
      method: 'DELETE',
      path: '/suppressions/:email',
      scope: 'suppressions:write',
      limitedTokens: true,
      contract: {
        id: 'deleteSuppression',
        summary: 'Send to an address again',
        description: 'Lifts it, or only the entry for `Reason`: `{}`',
        query: { Reason: REASON, ...DOMAIN },
        answer: nothing,
        errors: ['domain-ambiguous'],
      },
      handle: async (request) => {
        const { domain, address } = asked(request);
        const reason = queryReason(request.query);
        const removed = await store.removeSuppressions({
          domain,
          address,
          ...(reason === undefined ? {} : { reason }),
          now: clock.now(),
          eventIds: SUPPRESSION_REASONS.map(() => uuidv7(clock, random)),
        });
        if (removed === 0) throw refuse('not-found');
        return json({});
      },
    },
  ];
}

/** The one address and domain that a request by path is about. */
function asked({ caller, params, query }: ApiRequest): { domain: string; address: string } {
  const domain = pickDomain(caller, queryText(query, 'Domain', 255));
  const parsed = parseAddress(params.email ?? '');
  if (!parsed.ok) throw refuse('not-found');
  return { domain, address: parsed.address.text };
}

function queryReason(query: ReadonlyMap<string, string>): SuppressionReason | undefined {
  const text = queryText(query, 'Reason', 32);
  if (text === undefined) return undefined;
  const reason = reasons.get(text.toLowerCase());
  if (reason === undefined) throw invalidParameter(`Reason is one of ${REASON_LIST}`, 'Reason');
  return reason;
}

function toAnswer(row: Suppression): SuppressionAnswer {
  return {
    Email: row.address,
    Domain: row.domain,
    Reason: row.reason,
    Note: row.note,
    CreatedAt: isoTime(row.createdAt),
    ExpiresAt: isoTimeOrNull(row.expiresAt),
    MessageID: row.source === null || row.source.messageId === '' ? null : row.source.messageId,
    Reply: row.source?.reply ?? '',
    Rule: row.source?.rule ?? '',
  };
}
