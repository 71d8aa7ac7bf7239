/** Events: what they belong to, and what is read of one. */
import type { MessageId } from '../../../model/message.ts';
import type { EventDetail, EventFilter, EventView } from '../../topics/events.ts';
import { eventKindCode, routeCode } from '../codes.ts';
import { createKnownLists } from '../known-lists.ts';
import { idOf, isTrue, type StoredFlag, type StoredId, type StoredTexts, textsOf } from '../stored.ts';

/** What an event is about: numbers of this database. */
export interface EventSubject {
  domainId: number;
  messageSeq: number | null;
  deliveryId: number | null;
}

/** Everything a view of an event needs; `e` is the event. */
export const EVENT_VIEW_COLUMNS = `e.seq, e.event_id, e.kind, e.at, e.detail, e.delivery_id, en.text AS domain,
  ed.address AS recipient, ed.route, em.id AS message_id, em.lists, em.subject, em.size, em.tags, em.metadata,
  (em.sandbox OR ed.sandbox IS NOT NULL) AS sandbox`;

/** The joins of EVENT_VIEW_COLUMNS, all by primary key. */
export const EVENT_VIEW_JOINS = `JOIN name en ON en.id = e.domain_id LEFT JOIN delivery ed ON ed.id = e.delivery_id
  LEFT JOIN message em ON em.seq = e.message_seq`;

export interface EventViewRow {
  seq: number;
  event_id: StoredId;
  kind: number;
  at: number;
  detail: string | null;
  delivery_id: number | null;
  domain: string;
  recipient: string | null;
  route: number | null;
  message_id: StoredId | null;
  lists: string | null;
  subject: string | null;
  size: number | null;
  tags: StoredTexts;
  metadata: string | null;
  sandbox: StoredFlag | null;
}

/** Stands in the text of a `detail` exactly if `possibleDuplicate` is true: within a value, its quotes are escaped. */
export const DUPLICATE_MARK = '"possibleDuplicate":true';

/** Whether a search has conditions that no index of kinds and times helps with. */
export function isByRow({ recipient, tag, possibleDuplicate }: EventFilter): boolean {
  return recipient !== undefined || tag !== undefined || possibleDuplicate !== undefined;
}

/** A joined row as the event everyone knows. `known`: the lists of its page. */
export function toEventView(row: EventViewRow, known = createKnownLists()): EventView {
  const detail = row.detail === null ? null : (JSON.parse(row.detail) as EventDetail);
  return {
    seq: row.seq,
    id: idOf(row.event_id),
    kind: eventKindCode.word(row.kind),
    at: row.at,
    domain: row.domain,
    detail,
    message:
      row.message_id === null || row.lists === null
        ? null
        : {
            id: idOf(row.message_id) as MessageId,
            lists: known.of(row.lists, idOf(row.message_id)),
            subject: row.subject ?? '',
            size: row.size ?? 0,
            tags: textsOf(row.tags),
            metadata: row.metadata === null ? {} : (JSON.parse(row.metadata) as Record<string, string>),
            sandbox: isTrue(row.sandbox),
          },
    recipient: row.recipient ?? detail?.recipient ?? null,
    deliveryId: row.delivery_id,
    route: detail?.route ?? (row.route === null ? null : routeCode.word(row.route)),
  };
}
