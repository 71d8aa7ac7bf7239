/**
 * GET /events, the core list, and the timeline of one message, GET /email/{MessageID}/events.
 * Given the caller's domains and the query (names in any case), it leaves the frozen shape of the first and the full
 * facts of the second; the SMTP conversation is shown only to tokens that may read mail.
 */
import { z } from 'zod';
import type { Clock } from '../../../lib/clock.ts';
import { EVENT_KINDS, type EventKind, webhookToken } from '../../../model/event.ts';
import type { Mailbox } from '../../../model/message.ts';
import type { Caller } from '../../../model/submission.ts';
import { categoryOfClass } from '../../../pipeline/deliver/outcome/classifier/categories.ts';
import { outcomeSentence } from '../../../pipeline/deliver/outcome/classifier/verdict.ts';
import type { Store } from '../../../store/store.ts';
import type { EventLook, EventPlace, EventView } from '../../../store/topics/events.ts';
import type { AddressPair, EventList, EventRecord, TimelineEntry } from '../contract/answers/events.ts';
import type { Page } from '../contract/answers/page.ts';
import { eventList, timeline } from '../contract/schemas/events.ts';
import { EVENT_FILTERS, PAGE, text } from '../contract/schemas/query.ts';
import { gather, type Looks, looksOf, mayLook } from '../looks.ts';
import {
  type ApiRoute,
  invalidParameter,
  isoTime,
  isoTimeOrNull,
  json,
  pageLimit,
  queryAddress,
  queryInteger,
  queryText,
} from '../route.ts';
import { listedDomains, ownDomains, ownMessage } from '../tenancy.ts';
import { holdEntries } from './hold-entries.ts';
import { pathEntries } from './path-entries.ts';
import type { Traffic } from './traffic.ts';

const MAX_COUNTED = 10_000;
/** Events that `StartFrom` passes over; each page walks them anew. */
const MAX_OFFSET = 100_000;
/** Events that one read looks at: some ten milliseconds. */
const LOOK = 4_000;
const LARGEST = Number.MAX_SAFE_INTEGER;
const LATEST_SECONDS = 253_402_300_799;
const NO_PLACE = { City: '', Region: '', Country: '' } as const;

/** Kinds that concern a recipient of a message: only these fit the frozen shape. */
const MAIL_KINDS = (Object.keys(EVENT_KINDS) as EventKind[]).filter((kind) =>
  EVENT_KINDS[kind].payloadType?.startsWith('email.'),
);

/** The two event routes. */
export function eventRoutes({
  store,
  traffic,
  clock,
}: {
  store: Store;
  traffic: Pick<Traffic, 'sitesOf'>;
  clock: Clock;
}): readonly ApiRoute[] {
  return [
    {
      method: 'GET',
      path: '/events',
      scope: 'events:read',
      limitedTokens: true,
      contract: {
        id: 'listEvents',
        summary: 'List events',
        description:
          'Events newest first: `{TotalRecords, Events}`. `StartDate`, `EndDate` (Unix seconds), `Event`, `MessageID`, `StartFrom`, `RetrieveCount` (1–100, 5); also `Recipient`, `Tag`, `Domain`; `After` with the header `X-Next-After`, oldest first, and `Before` with `X-Next-Before`, newest first. `Event=failed` finds bounces too. `TotalRecords` counts to 10 000. A request looks at some 200 000 events at the most: a search by `Recipient` or `Tag` through more may answer fewer than there are, and `X-Next-Before` (`X-Next-After`) goes on',
        query: {
          StartDate: z.int().min(0).optional().describe('Unix seconds'),
          EndDate: z.int().min(0).optional().describe('Unix seconds'),
          ...EVENT_FILTERS,
          StartFrom: z.int().min(0).max(MAX_OFFSET).default(0).describe('Events to pass over'),
          RetrieveCount: z.int().min(1).max(100).default(5),
          After: text('`X-Next-After` of the answer before: oldest first from there'),
          Before: text('`X-Next-Before` of the answer before: newest first from there'),
        },
        answer: eventList,
        headers: {
          'X-Next-After': 'Where to go on with `After`',
          'X-Next-Before': 'Where to go on with `Before`, as long as there may be more',
        },
      },
      handle: async (request) => {
        const { query } = request;
        const since = seconds(query, 'StartDate');
        const until = seconds(query, 'EndDate');
        const after = query.get('after');
        const messageId = queryText(query, 'MessageID', 64);
        const recipient = queryAddress(query, 'Recipient');
        const tag = queryText(query, 'Tag', 256);
        const isOnward = after !== undefined && after !== '';
        const filter = {
          ...listedDomains(request),
          kinds: wantedKinds(queryText(query, 'Event', 64)),
          ...(messageId === undefined ? {} : { messageId: messageId.toLowerCase() }),
          ...(recipient === undefined ? {} : { recipient }),
          ...(tag === undefined ? {} : { tag }),
          ...(since === undefined ? {} : { since: since * 1000 }),
          // The last second belongs to the range; the store's end does not.
          ...(until === undefined ? {} : { until: (until + 1) * 1000 }),
          ...(isOnward
            ? { afterSeq: queryInteger(query, 'After', { min: 0, max: LARGEST, fallback: 0 }) }
            : {}),
          newestFirst: !isOnward,
          look: LOOK,
        };
        const before = placeOf(queryText(query, 'Before', 40));
        if (isOnward && before !== undefined) throw invalidParameter('Give After or Before', 'Before');
        const limit = queryInteger(query, 'RetrieveCount', { min: 1, max: 100, fallback: 5 });
        const offset = offsetOf(query);
        const looks = looksOf(request);
        const skipped = await count(filter, offset, before ?? undefined, looks);
        const start = offset === 0 ? (before ?? null) : skipped.next;
        const isBehind = offset > 0 && start === null;
        const found = isBehind
          ? { rows: [], next: null }
          : await gather<EventView, EventPlace>(
              looks,
              limit,
              start ?? undefined,
              async (from) => {
                const place = from === undefined ? {} : { from };
                const { events, next } = await store.findEvents({ ...filter, ...place, limit: limit + 1 });
                return { rows: events, next };
              },
              ({ at, seq }) => ({ at, seq }),
            );
        const counted = skipped.count + found.rows.length;
        const rest =
          found.next === null ? 0 : (await count(filter, MAX_COUNTED - counted, found.next, looks)).count;
        const answer: EventList = {
          TotalRecords: Math.min(counted + rest, MAX_COUNTED),
          Events: found.rows.map(toRecord),
        };
        // The body is frozen, so the places to go on from travel beside it.
        return json(answer, 200, placesOf(found, isOnward));
      },
    },
    {
      method: 'GET',
      path: '/email/:id/events',
      scope: 'events:read',
      limitedTokens: true,
      contract: {
        id: 'listEmailEvents',
        summary: 'Show what happened to a message',
        description:
          'The timeline of one message, oldest first, a page; with it when the ways of its recipients closed and opened (`path_blocked`, `path_unblocked`), and when its mail was held and let go (`held`, `released`). The SMTP conversation only for tokens with `email:read`',
        query: PAGE,
        answer: timeline,
      },
      handle: async (request) => {
        const { caller, params, query } = request;
        const message = await ownMessage(store, caller, params.id);
        const { id } = message;
        const limit = pageLimit(query);
        const { rows, next } = await gather<EventView, EventPlace>(
          looksOf(request),
          limit + 1,
          undefined,
          async (from) => {
            const { events, next } = await store.findEvents({
              ...ownDomains(caller),
              messageId: id,
              afterSeq: queryInteger(query, 'After', { min: 0, max: LARGEST, fallback: 0 }),
              ...(from === undefined ? {} : { from }),
              newestFirst: false,
              limit: limit + 2,
              look: LOOK,
            });
            return { rows: events, next };
          },
          ({ at, seq }) => ({ at, seq }),
        );
        const shown = rows.slice(0, limit);
        const more = rows.length > limit || next !== null;
        const showConversation = mayReadMail(caller);
        // Each page has what lies between its first event and the next page's.
        const isFirst = (query.get('after') ?? '') === '';
        const from = isFirst ? 0 : (shown[0]?.at ?? Number.MAX_SAFE_INTEGER);
        const to = rows[limit]?.at ?? next?.at ?? Number.MAX_SAFE_INTEGER;
        const shared = await Promise.all([
          pathEntries({ store, traffic }, message, from, to),
          holdEntries({ store, traffic, clock }, message, from, to),
        ]);
        const entries = [...shown.map((event) => toTimelineEntry(event, showConversation)), ...shared.flat()];
        const answer: Page<TimelineEntry> = {
          Items: entries.sort((a, b) => (a.At < b.At ? -1 : Number(a.At > b.At))),
          HasMore: more,
          NextCursor: more ? String(rows.length > limit ? (shown.at(-1)?.seq ?? 0) : (next?.seq ?? 0)) : null,
        };
        return json(answer);
      },
    },
  ];

  /** How many match behind a place, up to `upTo` or as far as the looks go, and the place behind them. */
  async function count(
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

/** Throws AppError invalid-parameter for more than a request can pass over. */
function offsetOf(query: ReadonlyMap<string, string>): number {
  const offset = queryInteger(query, 'StartFrom', { min: 0, max: LARGEST, fallback: 0 });
  if (offset <= MAX_OFFSET) return offset;
  throw invalidParameter(
    `StartFrom passes over at most ${MAX_OFFSET} events: go on with Before, which X-Next-Before of each page names`,
    'StartFrom',
  );
}

/** A place in the order of events, as `X-Next-Before` gave it. Throws AppError invalid-parameter. */
function placeOf(text: string | undefined): EventPlace | undefined {
  if (text === undefined) return undefined;
  const found = /^([0-9]{1,15})\.([0-9]{1,15})$/.exec(text);
  if (found === null) throw invalidParameter('Before is not an X-Next-Before of this list', 'Before');
  return { at: Number(found[1]), seq: Number(found[2]) };
}

function placesOf(
  { rows, next }: { rows: readonly EventView[]; next: EventPlace | null },
  isOnward: boolean,
): Record<string, string> {
  const newest = rows.reduce((seq, event) => Math.max(seq, event.seq), 0);
  const seen = isOnward && next !== null ? Math.max(newest, next.seq) : newest;
  return {
    ...(seen === 0 ? {} : { 'x-next-after': String(seen) }),
    ...(isOnward || next === null ? {} : { 'x-next-before': `${next.at}.${next.seq}` }),
  };
}

function seconds(query: ReadonlyMap<string, string>, name: string): number | undefined {
  const text = query.get(name.toLowerCase());
  if (text === undefined || text === '') return undefined;
  return queryInteger(query, name, { min: 0, max: LATEST_SECONDS, fallback: 0 });
}

/**
 * The word of the list, or a webhook's word for it, undefined = all about mail; `failed` covers bounces too, as clients
 * expect.
 */
export function wantedKinds(word: string | undefined): readonly EventKind[] {
  if (word === undefined) return MAIL_KINDS;
  const lower = word.trim().toLowerCase();
  if (lower === 'failed') return ['failed', 'bounced'];
  const exact = MAIL_KINDS.filter((kind) => kind === lower);
  if (exact.length > 0) return exact;
  const token = webhookToken(lower);
  if (token === 'all') return MAIL_KINDS;
  const kinds = MAIL_KINDS.filter((kind) => EVENT_KINDS[kind].token === token);
  if (kinds.length === 0)
    throw invalidParameter(`Event is not known; use one of ${MAIL_KINDS.join(', ')}`, 'Event');
  return kinds;
}

/** Whether the SMTP conversation is for this caller's eyes. */
export function mayReadMail(caller: Caller): boolean {
  return caller.scopes.has('admin') || caller.scopes.has('email:read');
}

/** The frozen shape. */
export function toRecord(event: EventView): EventRecord {
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
    Ip: event.detail?.ipAddress ?? '',
    Geolocation: NO_PLACE,
  };
}

/** One line of a timeline. */
export function toTimelineEntry(event: EventView, showConversation: boolean): TimelineEntry {
  const detail = event.detail;
  const entry: TimelineEntry = {
    EventID: event.id,
    Event: event.kind,
    At: isoTime(event.at),
    LogLevel: EVENT_KINDS[event.kind].logLevel,
    Recipient: event.recipient,
    Attempt: detail?.attempt ?? null,
    Route: detail?.route ?? event.route,
    Reason: reasonOf(event),
    RemoteMta: detail?.remoteMta ?? detail?.bounce?.RemoteMta ?? '',
    Reply: detail?.reply ?? '',
    Tls: detail?.tls ?? '',
    DurationMs: detail?.durationMs ?? null,
    NextAttemptAt: isoTimeOrNull(detail?.nextAttemptAt ?? null),
    PossibleDuplicate: detail?.possibleDuplicate ?? false,
    Bounce: detail?.bounce ?? null,
    Explanation: explanation(event),
    IPAddress: detail?.ipAddress ?? '',
    UserAgent: detail?.userAgent ?? '',
    URL: detail?.url ?? '',
  };
  if (showConversation) entry.Conversation = detail?.conversation ?? '';
  return entry;
}

function explanation({ kind, detail }: EventView): string {
  if (kind !== 'deferred' && kind !== 'bounced' && kind !== 'failed') return '';
  const category = categoryOfClass(detail?.bounce?.Class ?? '');
  return category === null ? '' : outcomeSentence(kind, category);
}

function reasonOf({ detail }: EventView): string {
  return detail?.reason || detail?.bounce?.Diagnostic || detail?.reply || '';
}

function toPair(mailbox: Mailbox): AddressPair {
  return [mailbox.name, mailbox.address];
}
