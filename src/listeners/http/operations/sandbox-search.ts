/**
 * Finding captured copies: filters that the store answers (inbox, addresses, subject, tag, time) and filters that need
 * the message itself (text in its contents, attachments). The latter read and parse copy by copy, newest first, a
 * bounded number per question; where that is not enough, the page ends early and its cursor goes on.
 */

import { fillPlaces } from '../../../model/personal.ts';
import type { Store } from '../../../store/store.ts';
import type { CaptureFilter, CaptureView } from '../../../store/topics/captures.ts';
import type { CapturedContents } from '../captured-mail.ts';
import type { CapturedReader } from '../captured-reader.ts';
import type { CaptureDetail, CaptureSummary } from '../contract/answers/sandbox.ts';
import { isoTime, queryAddress, queryFlag, queryText, queryTime, refuse } from '../route.ts';
import { toNamedAddress } from './messages.ts';

/** What a request asks for. */
export interface CaptureFilters {
  stored: Omit<CaptureFilter, 'limit' | 'domains' | 'beforeId'>;
  /** In lower case; undefined = any. */
  text: string | undefined;
  hasAttachment: boolean | undefined;
}

export interface CaptureSearch {
  /** Throws AppError invalid-parameter. */
  filtersOf(query: ReadonlyMap<string, string>): CaptureFilters;
  /** At most `limit` matches, newest first, and where to go on; `more` may be true for a page that found nothing. */
  newest(
    domains: { domains?: readonly string[] },
    filters: CaptureFilters,
    limit: number,
    beforeId?: string,
  ): Promise<{ found: readonly CaptureView[]; more: boolean; lastId: string | null }>;
  /** Whether a copy that the store found also matches what only its contents can tell. */
  matches(capture: CaptureView, filters: CaptureFilters): Promise<boolean>;
  /** What delivery put in front, and the message's own content. Throws AppError content-expired. */
  bytesOf(capture: CaptureView): Promise<Uint8Array>;
  /** The parsed copy. Throws AppError content-expired. */
  detailOf(capture: CaptureView): Promise<CaptureDetail>;
}

/** Copies parsed for one question: about half a second. */
const MAX_PARSED = 300;
const PAGE = 100;
const MAX_TEXT_CHARS = 256;

/** A search over the captures of `store`. */
export function createCaptureSearch(
  store: Pick<Store, 'listCaptures' | 'readContent' | 'readPlaces'>,
  reader: CapturedReader,
): CaptureSearch {
  return {
    filtersOf(query) {
      const filters = {
        inbox: queryText(query, 'Inbox', 320)?.toLowerCase(),
        from: queryAddress(query, 'From'),
        to: queryAddress(query, 'To'),
        subject: queryText(query, 'Subject', 998),
        tag: queryText(query, 'Tag', 256),
        since: queryTime(query, 'Since'),
        until: queryTime(query, 'Until'),
      };
      return {
        stored: withoutUndefined(filters),
        text: queryText(query, 'Text', MAX_TEXT_CHARS)?.toLowerCase(),
        hasAttachment: queryFlag(query, 'HasAttachment'),
      };
    },

    async newest(domains, filters, limit, beforeId) {
      const inside = filters.text !== undefined || filters.hasAttachment !== undefined;
      const found: CaptureView[] = [];
      let lastId: string | null = beforeId ?? null;
      for (let parsed = 0; ; ) {
        const size = inside ? PAGE : limit + 1;
        const rows: readonly CaptureView[] = await store.listCaptures({
          ...domains,
          ...filters.stored,
          ...(lastId === null ? {} : { beforeId: lastId }),
          limit: size,
        });
        for (const row of rows) {
          if (found.length === limit || parsed >= MAX_PARSED) return { found, more: true, lastId };
          if (inside) parsed += 1;
          if (!inside || (await matches(row, filters))) found.push(row);
          lastId = row.id;
        }
        if (rows.length < size) return { found, more: false, lastId };
      }
    },

    matches,
    bytesOf,
    async detailOf(capture) {
      return { ...toCaptureSummary(capture), ...(await reader.contents(await bytesOf(capture))) };
    },
  };

  async function matches(capture: CaptureView, { text, hasAttachment }: CaptureFilters): Promise<boolean> {
    if (text === undefined && hasAttachment === undefined) return true;
    const content = await store.readContent({ messageSeq: capture.messageSeq });
    if (content === null) return false;
    const mail = await reader.contents(content);
    if (hasAttachment !== undefined && hasAttachment !== hasFiles(mail)) return false;
    if (text === undefined) return true;
    const places = [capture.subject, mail.PlainContent, mail.HTMLContent];
    return places.some((place) => place.toLowerCase().includes(text));
  }

  async function bytesOf(capture: CaptureView): Promise<Uint8Array> {
    const content = await store.readContent({ messageSeq: capture.messageSeq });
    if (content === null) throw refuse('content-expired');
    if (capture.fill === null) return Buffer.concat([capture.prefix, content]);
    const places = await store.readPlaces({ messageSeq: capture.messageSeq });
    if (places === null) throw refuse('content-expired');
    return Buffer.concat([capture.prefix, fillPlaces(content, places, capture.fill)]);
  }
}

/** A picture inside the HTML is part of the text, not a file that came with it. */
function hasFiles(mail: CapturedContents): boolean {
  return mail.Attachments.some((file) => file.Disposition !== 'inline');
}

/** One item of the list. */
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
    ReleasedAt: capture.released === null ? null : isoTime(capture.released.at),
    ReleasedAs: capture.released?.messageId ?? null,
  };
}

type Defined<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

function withoutUndefined<T extends object>(value: T): Defined<T> {
  return Object.fromEntries(Object.entries(value).filter(([, item]) => item !== undefined)) as Defined<T>;
}
