/**
 * GET /events, the specified list, in its fixed format. Answers newest first, or oldest first after a position; the
 * positions to continue from are in headers.
 */

import { z } from 'zod';
import { EVENT_KINDS, type EventKind, MAIL_KINDS, webhookToken } from '../../../model/event.ts';
import type { Mailbox } from '../../../model/message.ts';
import type { EventLook, EventPlace, EventView } from '../../../store/topics/events.ts';
import { type Answer, count } from '../answer-schemas.ts';
import type { ApiParts } from '../deps.ts';
import { gather, type Looks, looksOf, mayLook } from '../looks.ts';
import { operation, withHeaders, withoutUndefined } from '../operation.ts';
import { cursor, cursorText } from '../paging.ts';
import { address, DOMAIN, flag, integer, moment, text } from '../query.ts';
import { type ApiRoute, invalidParameter } from '../route.ts';
import { logLevel, reasonOf } from './timeline-entry.ts';

const pairs = z.array(z.tuple([z.string(), z.string()])).describe('Pairs of name and address');

const record = z
  .strictObject({
    Event: z.string().describe('The kind, e.g. delivered'),
    LoggedAt: z.int().describe('Unix seconds'),
    LogLevel: logLevel,
    Message: z.strictObject({
      Headers: z.strictObject({
        MessageId: z.string(),
        From: pairs,
        ReplyTo: pairs,
        To: pairs,
        Cc: pairs,
        Bcc: pairs,
        Subject: z.string(),
      }),
      Size: count,
      Transport: z.enum(['smtp', 'sandbox']),
    }),
    Recipient: z.string(),
    Reason: z.string(),
    PossibleDuplicate: z
      .literal(true)
      .optional()
      .describe('Delivered, and an earlier attempt may have been taken too; absent otherwise'),
    Ip: z.string(),
    Geolocation: z.strictObject({ City: z.string(), Region: z.string(), Country: z.string() }),
  })
  .meta({ id: 'EventRecord' });

const eventList = z
  .strictObject({
    TotalRecords: count.describe(
      'Exact up to 10 000, then 10 000. With `After` or `Before` of the events from there on, without them of all',
    ),
    Events: z.array(record),
  })
  .meta({ id: 'EventList' });

const MAX_COUNTED = 10_000;
/** Events that `StartFrom` skips; each page reads them again. */
const MAX_OFFSET = 100_000;
/** Events that one read looks at: some ten milliseconds. */
const LOOK = 4_000;
const LIST = 'events';
/** A position in the order of events. */
const PLACE = z.object({ at: z.int(), seq: z.int() });
const TOO_FAR = `must be a whole number from 0 to ${MAX_OFFSET}; for the events behind them go on with Before, which X-Next-Before of each page names`;
const NO_PLACE = { City: '', Region: '', Country: '' } as const;

/** Kinds by the name in the list, or a webhook's name for them. `failed` includes bounces, as clients expect. Only kinds of mail fit the fixed format. */
const kindsByWord = z
  .string()
  .max(64, 'is too long')
  .transform((given, context): readonly EventKind[] => {
    const kinds = kindsOf(given.trim().toLowerCase());
    if (kinds.length > 0) return kinds;
    context.addIssue({ code: 'custom', message: `is not known; use one of ${MAIL_KINDS.join(', ')}` });
    return z.NEVER;
  });

/** What happened, to whom. */
export const EVENT_FILTERS = {
  Event: kindsByWord.optional().describe('Kind, e.g. delivered; failed finds bounces too'),
  MessageID: text('Of one message', 64),
  Recipient: address('Address'),
  Tag: text('Tag of the message', 256),
  ...DOMAIN,
};

/** An event of the page as it is answered, and its place. */
interface FoundEvent extends EventPlace {
  item: Answer<typeof record>;
}

export function eventListOperation({ store }: ApiParts): ApiRoute {
  return operation('GET /events', {
    id: 'listEvents',
    scope: 'events:read',
    summary: 'List events',
    description:
      'Events newest first: `{TotalRecords, Events}`. `StartDate`, `EndDate` (Unix seconds or ISO 8601, both included), `Event`, `MessageID`, `StartFrom`, `RetrieveCount` (1–100, 5); also `Recipient`, `Tag`, `Domain`, `PossibleDuplicate=true`; `After` with the header `X-Next-After`, oldest first, and `Before` with `X-Next-Before`, newest first. `Event=failed` finds bounces too. `TotalRecords` counts to 10 000. A request reads at most about 200 000 events, so a search by `Recipient`, `Tag` or `PossibleDuplicate` may return fewer than match: continue with `X-Next-Before` (`X-Next-After`)',
    query: {
      StartDate: moment('From this second on'),
      EndDate: moment('Up to the end of this second'),
      ...EVENT_FILTERS,
      PossibleDuplicate: flag()
        .optional()
        .describe('true: only deliveries that may have been repeated, as after a crash'),
      StartFrom: integer(0, MAX_OFFSET, TOO_FAR).default(0).describe('Events to pass over'),
      RetrieveCount: integer(1, 100).default(5),
      After: integer(0, Number.MAX_SAFE_INTEGER)
        .optional()
        .describe('`X-Next-After` of the answer before: oldest first from there'),
      Before: cursor(LIST, PLACE, 'this list', 'X-Next-Before')
        .optional()
        .describe('`X-Next-Before` of the answer before: newest first from there'),
    },
    answer: eventList,
    headers: {
      'X-Next-After': 'Where to go on with `After`',
      'X-Next-Before': 'Where to go on with `Before`, as long as there may be more',
    },
    handle: async ({ query, visible, request }) => {
      const { After, Before, RetrieveCount: limit, StartFrom: offset, StartDate, EndDate } = query;
      const isOnward = After !== undefined;
      if (isOnward && Before !== undefined) throw invalidParameter('Give After or Before', 'Before');
      const filter = {
        ...visible,
        ...withoutUndefined({
          messageId: query.MessageID?.toLowerCase(),
          recipient: query.Recipient,
          tag: query.Tag,
          possibleDuplicate: query.PossibleDuplicate === true ? (true as const) : undefined,
          since: StartDate === undefined ? undefined : secondOf(StartDate),
          // The last second belongs to the range; the store's end is exclusive.
          until: EndDate === undefined ? undefined : secondOf(EndDate) + 1000,
          afterSeq: After,
        }),
        kinds: query.Event ?? (query.PossibleDuplicate === true ? ['delivered' as const] : MAIL_KINDS),
        newestFirst: !isOnward,
        look: LOOK,
      };
      const looks = looksOf(request);
      const skipped = await countBehind(filter, offset, Before, looks);
      const start = offset === 0 ? (Before ?? null) : skipped.next;
      const isBehind = offset > 0 && start === null;
      const found = isBehind
        ? { rows: [], next: null }
        : await gather<FoundEvent, EventPlace>(
            looks,
            limit,
            start ?? undefined,
            async (from, most) => {
              const place = from === undefined ? {} : { from };
              const { events, next } = await store.findEvents({ ...filter, ...place, limit: most });
              // Here, where it is a part of the page: the whole may name a thousand recipients a hundred times.
              const rows = events.map((event) => ({ at: event.at, seq: event.seq, item: toRecord(event) }));
              return { rows, next };
            },
            ({ at, seq }) => ({ at, seq }),
          );
      const counted = skipped.count + found.rows.length;
      const rest =
        found.next === null ? 0 : (await countBehind(filter, MAX_COUNTED - counted, found.next, looks)).count;
      const answer = {
        TotalRecords: Math.min(counted + rest, MAX_COUNTED),
        Events: found.rows.map(({ item }) => item),
      };
      // The body is fixed, so the positions to continue from are in headers.
      return withHeaders(answer, placesOf(found, isOnward));
    },
  });

  /** How many match after a position, up to `upTo` or as far as the steps go, and the position after them. */
  async function countBehind(
    filter: EventLook,
    upTo: number,
    from: EventPlace | undefined,
    looks: Looks,
  ): Promise<{ count: number; next: EventPlace | null }> {
    let counted = 0;
    let next: EventPlace | null = from ?? null;
    while (counted < upTo && mayLook(looks)) {
      const place = next === null ? {} : { from: next };
      const found = await store.countEvents({ ...filter, ...place, upTo: upTo - counted });
      counted += found.count;
      next = found.next;
      if (next === null) break;
    }
    return { count: counted, next };
  }
}

function secondOf(at: number): number {
  return Math.floor(at / 1000) * 1000;
}

function placesOf(
  { rows, next }: { rows: readonly FoundEvent[]; next: EventPlace | null },
  isOnward: boolean,
): Record<string, string> {
  const newest = rows.reduce((seq, event) => Math.max(seq, event.seq), 0);
  const seen = isOnward && next !== null ? Math.max(newest, next.seq) : newest;
  return {
    ...(seen === 0 ? {} : { 'x-next-after': String(seen) }),
    ...(isOnward || next === null ? {} : { 'x-next-before': cursorText(LIST, next) ?? '' }),
  };
}

/** The fixed format. */
function toRecord(event: EventView): Answer<typeof record> {
  const lists = event.message?.lists;
  return {
    Event: event.kind,
    LoggedAt: Math.floor(event.at / 1000),
    LogLevel: EVENT_KINDS[event.kind].logLevel,
    Message: {
      Headers: {
        MessageId: event.message?.id ?? '',
        From: lists === undefined ? [] : [toPair(lists.from)],
        ReplyTo: (lists?.replyTo ?? []).map(toPair),
        To: (lists?.to ?? []).map(toPair),
        Cc: (lists?.cc ?? []).map(toPair),
        Bcc: (lists?.bcc ?? []).map(toPair),
        Subject: event.message?.subject ?? '',
      },
      Size: event.message?.size ?? 0,
      Transport: event.message?.sandbox === true || event.route === 'sandbox' ? 'sandbox' : 'smtp',
    },
    Recipient: event.recipient ?? '',
    Reason: reasonOf(event),
    // The format is fixed, so other events do not have it.
    ...(event.detail?.possibleDuplicate === true ? { PossibleDuplicate: true as const } : {}),
    Ip: event.detail?.ipAddress ?? '',
    Geolocation: NO_PLACE,
  };
}

function toPair(mailbox: Mailbox): [string, string] {
  return [mailbox.name, mailbox.address];
}

/** None for a word that is not known. */
function kindsOf(word: string): readonly EventKind[] {
  if (word === 'failed') return ['failed', 'bounced'];
  const exact = MAIL_KINDS.filter((kind) => kind === word);
  if (exact.length > 0) return exact;
  const token = webhookToken(word);
  return token === 'all' ? MAIL_KINDS : MAIL_KINDS.filter((kind) => EVENT_KINDS[kind].token === token);
}
