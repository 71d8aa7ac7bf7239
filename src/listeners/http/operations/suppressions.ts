/**
 * The suppression list of a sender domain: list, add up to a thousand addresses at once, look one up, remove it. All
 * operations are limited to the caller's domains. An address may be on the list for several reasons, each with its own
 * end, so it is looked up and removed as a whole or by `Reason`.
 */

import { z } from 'zod';
import { uuidv7 } from '../../../lib/ids.ts';
import { isJsonObject } from '../../../lib/json-object.ts';
import { parseAddress } from '../../../mail/address.ts';
import { SUPPRESSION_REASONS, type Suppression } from '../../../model/suppression.ts';
import { pickDomain } from '../../../policy/access/rights.ts';
import { MAX_NOTE_CHARS } from '../../../policy/suppressions/import-file.ts';
import { expiryOf } from '../../../policy/suppressions/suppressions.ts';
import type { NewSuppression } from '../../../store/topics/suppressions.ts';
import { type Answer, count, nothing, pageOf, time } from '../answer-schemas.ts';
import { instant } from '../body/instant.ts';
import { propertyTable, readProperties } from '../body/json-properties.ts';
import type { ApiParts } from '../deps.ts';
import { operation, withoutUndefined } from '../operation.ts';
import { paging } from '../paging.ts';
import { address, DOMAIN, domainName, SINCE, word } from '../query.ts';
import { type ApiRoute, invalidParameter, isoTime, isoTimeOrNull, refuse } from '../route.ts';

const MAX_ITEMS = 1000;
/** Entries that one read looks at: some milliseconds. */
const LOOK = 4_000;

const reasons = new Map(SUPPRESSION_REASONS.map((reason) => [reason.toLowerCase(), reason]));
const REASON = word(SUPPRESSION_REASONS).optional();
const PAGES = paging('suppressions', z.int().min(1), ({ id }: { id: number }) => id);

const suppression = z
  .object({
    Email: z.string(),
    Domain: z.string(),
    Reason: z.enum(SUPPRESSION_REASONS),
    Note: z.string(),
    CreatedAt: time,
    ExpiresAt: time.nullable().describe('null = until it is removed'),
    MessageID: z.string().nullable().describe('The message that caused it; null = added by hand'),
    Reply: z.string(),
    Rule: z.string().describe('What decided'),
  })
  .meta({ id: 'Suppression' });

const suppressionDetail = z
  .object({
    Email: z.string(),
    Domain: z.string(),
    Entries: z.array(suppression).describe('One per reason'),
  })
  .meta({ id: 'SuppressionDetail' });

const suppressionsAdded = z
  .object({ Added: count, Existing: count.describe('Were in force already and were left alone') })
  .meta({ id: 'SuppressionsAdded' });

const ITEM = propertyTable(['Email', 'Reason', 'Note', 'ExpiresAt']);

const item = z.preprocess(
  (value) => {
    if (!isJsonObject(value)) return value;
    const given = readProperties(value, ITEM, false, () => {});
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
        context.addIssue({ code: 'custom', message: `is one of ${SUPPRESSION_REASONS.join(', ')}` });
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
    .array(item, {
      error: ({ code }) =>
        code === 'invalid_type' ? 'a list of {Email, Reason?, Note?, ExpiresAt?} is required' : undefined,
    })
    .min(1)
    .max(MAX_ITEMS, { error: `holds at most ${MAX_ITEMS} addresses: send them in several requests` }),
  Domain: z.string().max(255).optional(),
});

export function suppressionOperations({ store, clock, random, createOnce }: ApiParts): readonly ApiRoute[] {
  return [
    operation('GET /suppressions', {
      id: 'listSuppressions',
      scope: 'suppressions:read',
      summary: 'List who is not sent to',
      description:
        'Suppressed addresses, newest first, a page: `{Email, Domain, Reason, Note, CreatedAt, ExpiresAt, MessageID, Reply, Rule}`. `Reason`, `Since`, `Email`, `RecipientDomain`, `Domain`',
      query: {
        Email: address('Address'),
        RecipientDomain: domainName('Domain of the addresses'),
        Reason: REASON,
        ...SINCE,
        ...DOMAIN,
        ...PAGES.query,
      },
      answer: pageOf('SuppressionList', suppression),
      handle: ({ query, visible, request }) => {
        const { Email, Reason, Since, RecipientDomain: recipientDomain } = query;
        const filter = {
          ...visible,
          ...withoutUndefined({ address: Email, reason: Reason, since: Since, recipientDomain }),
          now: clock.now(),
          look: LOOK,
        };
        return PAGES.search(request, query, toAnswer, async (beforeId, limit) => {
          const place = { ...withoutUndefined({ beforeId }), limit };
          const { suppressions, nextId } = await store.listSuppressions({ ...filter, ...place });
          return { rows: suppressions, next: nextId };
        });
      },
    }),
    operation('POST /suppressions', {
      id: 'addSuppressions',
      scope: 'suppressions:write',
      summary: 'Stop sending to addresses',
      description:
        '`{Items: [{Email, Reason?, Note?, ExpiresAt?}]}`, at most 1000, and `Domain` if the token has several: `{Added, Existing}`. `Reason` is Bounce, Inactive, SoftBounces, Complaint, Unsubscribe or Manual (the default); without `ExpiresAt` Inactive lasts 90 days, SoftBounces 30, the others until they are removed. Takes `Idempotency-Key`',
      once: createOnce,
      body: {
        schema: NEW_SUPPRESSIONS,
        example: { Items: [{ Email: 'former@example.net', Note: 'asked by telephone' }] },
      },
      answer: suppressionsAdded,
      errors: ['domain-ambiguous', 'not-found'],
      handle: async ({ caller, body, key }) => {
        const domain = pickDomain(caller, body.Domain);
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
          ...withoutUndefined({ idempotency: key?.({ Added: '$added', Existing: '$existing' }) }),
        });
        return { Added: added, Existing: existing };
      },
    }),
    operation('GET /suppressions/:email', {
      id: 'getSuppression',
      scope: 'suppressions:read',
      summary: 'Show why an address is not sent to',
      description:
        'Why mail to an address (percent-encoded) is suppressed: `{Email, Domain, Entries}`, an entry per reason',
      query: DOMAIN,
      answer: suppressionDetail,
      errors: ['domain-ambiguous'],
      handle: async ({ domain, params }) => {
        const Email = addressIn(params.email);
        const found = await store.suppressedAmong({ domain, addresses: [Email], now: clock.now() });
        if (found.length === 0) throw refuse('not-found');
        return { Email, Domain: domain, Entries: found.map((entry) => toAnswer(entry.suppression)) };
      },
    }),
    operation('DELETE /suppressions/:email', {
      id: 'deleteSuppression',
      scope: 'suppressions:write',
      summary: 'Send to an address again',
      description: 'Removes it, or only the entry for `Reason`: `{}`',
      query: { Reason: REASON, ...DOMAIN },
      answer: nothing,
      errors: ['domain-ambiguous'],
      handle: async ({ domain, params, query }) => {
        const removed = await store.removeSuppressions({
          domain,
          address: addressIn(params.email),
          ...withoutUndefined({ reason: query.Reason }),
          now: clock.now(),
          eventIds: SUPPRESSION_REASONS.map(() => uuidv7(clock, random)),
        });
        if (removed === 0) throw refuse('not-found');
        return {};
      },
    }),
  ];
}

/** The address in the path. Throws AppError not-found where it is none. */
function addressIn(given: string): string {
  const parsed = parseAddress(given);
  if (!parsed.ok) throw refuse('not-found');
  return parsed.address.text;
}

function toAnswer(row: Suppression): Answer<typeof suppression> {
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
