/**
 * Searches captured copies. The store answers conditions on inbox, addresses, subject, tag and time from its indexes, and
 * those on the content (`Text`, `HasAttachment`) from what `capture-texts.ts` indexed after each capture. Messages that are not
 * indexed yet are parsed here, a limited number for each search. A search looks at a limited number of captures; then its page
 * ends early and the cursor continues. The cursor is a position in the order of capture, so captures that are added or removed
 * meanwhile do not shift it.
 */

import { z } from 'zod';
import { BoundedMap } from '../../../lib/bounded-map.ts';
import { fillSlots } from '../../../model/personal.ts';
import { foldText } from '../../../model/search-text.ts';
import type { Caller } from '../../../model/submission.ts';
import { sharersOf } from '../../../policy/access/rights.ts';
import type { Store } from '../../../store/store.ts';
import type { CaptureFilter, CaptureText, CaptureView } from '../../../store/topics/captures.ts';
import { toNamedAddress } from '../answer-schemas.ts';
import { withoutUndefined } from '../operation.ts';
import { flag, MAIL_FILTERS, text } from '../query.ts';
import { isoTime, isoTimeOrNull, refuse } from '../route.ts';
import type { CapturedReader } from './captured-reader.ts';
import type { CaptureSummary } from './captures.ts';

/** A text that is searched for in any case. Blanks alone would be found everywhere: they are refused. */
function folded(description: string, max: number) {
  return z
    .string()
    .max(max, 'is too long')
    .transform((given, context) => {
      const text = foldText(given);
      if (text === '') context.addIssue({ code: 'custom', message: 'holds nothing to search for' });
      return text;
    })
    .optional()
    .describe(description);
}

const MAX_TEXT_CHARS = 256;

/** The filters of captured mail, as the query has them. */
export const CAPTURE_FILTERS = {
  Inbox: text('Name of the inbox', 320),
  ...MAIL_FILTERS,
  Subject: folded('Holds this text', 998),
  Text: folded('In the subject or a content', MAX_TEXT_CHARS),
  Seen: flag().optional().describe('Marked as seen, or not'),
  HasAttachment: flag().optional().describe('With or without attachments'),
};
type CaptureQuery = Readonly<z.output<z.ZodObject<typeof CAPTURE_FILTERS>>>;

/** What a request asks for. */
export interface CaptureFilters {
  stored: Omit<CaptureFilter, 'domains'>;
  /** Folded; undefined = any. */
  text: string | undefined;
  hasFiles: boolean | undefined;
  /** Who asks; parsing counts towards this tenant's share of the workers. */
  tenant: readonly string[];
}

interface Found {
  /** Newest first. */
  found: readonly CaptureView[];
  /** Where the next page begins; null = there is none. A page that found nothing may have a next one. */
  nextSeq: number | null;
}

export interface CaptureSearch {
  filtersOf(query: CaptureQuery, caller: Caller): CaptureFilters;
  /** At most `limit` matches, of those captured before `beforeSeq` where it is given; looks no further once `ended`. */
  newest(
    domains: { domains?: readonly string[] },
    filters: CaptureFilters,
    limit: number,
    more?: { beforeSeq?: number | undefined; ended?: AbortSignal },
  ): Promise<Found>;
  /** Whether a copy that the store found also matches what only its contents can tell. */
  matches(capture: CaptureView, filters: CaptureFilters): Promise<boolean>;
  /** What delivery put in front, and the message's own content. Throws AppError content-expired. */
  bytesOf(capture: CaptureView): Promise<Uint8Array>;
  /** The parsed copy, a `CaptureDetail` as JSON. Throws AppError content-expired. */
  detailOf(capture: CaptureView, tenant: readonly string[]): Promise<Uint8Array>;
}

/** Messages read for one question: about half a second. */
const MAX_READ = 300;
/** Captures that one query looks at, with and without texts, and queries for one question: others get their turn between them. */
const LOOK_INSIDE = 2_000;
const LOOK = 20_000;
/** The same where the message of each is read: for its sender or a tag. */
const LOOK_AT_MESSAGES = 4_000;
const MAX_QUERIES = 50;
/** Texts of messages that somebody waits to find are kept for the next who waits. */
const MAX_KEPT_TEXTS = 32;

export function createCaptureSearch(
  store: Pick<Store, 'findCaptures' | 'readContent' | 'readTokenSlots'>,
  reader: CapturedReader,
): CaptureSearch {
  const keptTexts = new BoundedMap<number, Promise<Omit<CaptureText, 'messageSeq'> | null>>(MAX_KEPT_TEXTS);

  return {
    filtersOf: (query, caller) => ({
      stored: withoutUndefined({
        inbox: query.Inbox?.toLowerCase(),
        from: query.From,
        to: query.To,
        subject: query.Subject,
        tag: query.Tag,
        since: query.Since,
        until: query.Until,
        seen: query.Seen,
      }),
      text: query.Text,
      hasFiles: query.HasAttachment,
      tenant: sharersOf(caller),
    }),

    async newest(domains, filters, limit, { beforeSeq, ended } = {}) {
      const { text, hasFiles } = filters;
      const inside = looksInside(filters);
      const ofMessage = filters.stored.from !== undefined || filters.stored.tag !== undefined;
      const question = {
        ...domains,
        ...filters.stored,
        ...withoutUndefined({ text, hasFiles }),
        // One more than asked for, to know whether a next page holds something.
        limit: limit + 1,
        look: inside ? LOOK_INSIDE : ofMessage ? LOOK_AT_MESSAGES : LOOK,
      };
      const found: CaptureView[] = [];
      let read = 0;
      let next: number | null = beforeSeq ?? null;
      for (let queries = 0; queries < MAX_QUERIES && ended?.aborted !== true; queries += 1) {
        const page = await store.findCaptures({ ...question, ...(next === null ? {} : { beforeSeq: next }) });
        const unread = new Set(page.unread);
        for (const capture of page.captures) {
          if (found.length === limit) return { found, nextSeq: found.at(-1)?.seq ?? null };
          if (unread.has(capture.seq)) {
            if (read === MAX_READ) return { found, nextSeq: capture.seq + 1 };
            read += 1;
            if (!(await matches(capture, filters))) continue;
          }
          found.push(capture);
        }
        next = page.nextSeq;
        if (next === null) return { found, nextSeq: null };
      }
      return { found, nextSeq: next };
    },

    matches,
    bytesOf,
    detailOf: async (capture, tenant) =>
      reader.detail(await bytesOf(capture), toCaptureSummary(capture), 'capture', tenant),
  };

  async function matches(capture: CaptureView, filters: CaptureFilters): Promise<boolean> {
    const { text, hasFiles, tenant } = filters;
    if (!looksInside(filters)) return true;
    const inside = await insideOf(capture, tenant);
    if (inside === null) return false;
    if (hasFiles !== undefined && hasFiles !== inside.hasFiles) return false;
    return text === undefined || `${foldText(capture.subject)} ${inside.text}`.includes(text);
  }

  /** Null where the content is gone. */
  function insideOf(
    { messageSeq }: CaptureView,
    tenant: readonly string[],
  ): Promise<Omit<CaptureText, 'messageSeq'> | null> {
    const known = keptTexts.get(messageSeq);
    if (known !== undefined) return known;
    const reading = store
      .readContent({ messageSeq })
      .then(async (content) => (content === null ? null : reader.searched(content, tenant)));
    keptTexts.set(messageSeq, reading);
    reading.catch(() => keptTexts.delete(messageSeq));
    return reading;
  }

  async function bytesOf(capture: CaptureView): Promise<Uint8Array> {
    // Just captured, and still in memory.
    if (capture.content !== undefined) return Buffer.concat([capture.prefix, capture.content]);
    const content = await store.readContent({ messageSeq: capture.messageSeq });
    if (content === null) throw refuse('content-expired');
    if (capture.fill === null) return Buffer.concat([capture.prefix, content]);
    const places = await store.readTokenSlots({ messageSeq: capture.messageSeq });
    if (places === null) throw refuse('content-expired');
    return Buffer.concat([capture.prefix, fillSlots(content, places, capture.fill)]);
  }
}

/** Whether the store alone cannot tell of what has just been captured. */
function looksInside({ text, hasFiles }: Pick<CaptureFilters, 'text' | 'hasFiles'>): boolean {
  return text !== undefined || hasFiles !== undefined;
}

export function toCaptureSummary(capture: CaptureView): CaptureSummary {
  return {
    ID: capture.id,
    MessageID: capture.messageId,
    Inbox: capture.inbox,
    CapturedAt: isoTime(capture.at),
    EnvelopeFrom: capture.envelopeFrom,
    EnvelopeTo: capture.envelopeTo,
    From: toNamedAddress(capture.lists.from),
    To: capture.lists.to.map(toNamedAddress),
    Subject: capture.subject,
    Size: capture.size,
    Tags: capture.tags,
    ReleasedAt: isoTimeOrNull(capture.released?.at ?? null),
    ReleasedAs: capture.released?.messageId ?? null,
    SeenAt: isoTimeOrNull(capture.seenAt),
  };
}
