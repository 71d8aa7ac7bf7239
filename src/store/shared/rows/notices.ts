/** Notices to senders: the facts that they report, as rows, and when a delay is reported. */
import type { MessageId } from '../../../model/message.ts';
import type { NoticeKind } from '../../../model/notice.ts';
import type { NewMessage } from '../../topics/acceptance.ts';
import type { EventDetail } from '../../topics/events.ts';
import type { DueNotice, DueRecipient } from '../../topics/notices.ts';
import type { Settlement } from '../../topics/queue.ts';
import { noticeKindCode, routeCode, stateCode } from '../codes.ts';
import { idOf, isTrue, type StoredFlag, type StoredId } from '../stored.ts';

/** In `delivery.notify`, in addition to the codes of the kinds: the delay was reported. */
export const DELAY_TOLD = 8;

/** A delay is reported after this time, or after half of the maximum wait if that is less. */
export const DELAY_AFTER_MS = 4 * 3_600_000;

export const HOUR_MS = 3_600_000;
/** How long the count of an hour's notices is kept. */
export const HOURS_KEPT = 2;

/** Due facts, longest due first. Tests of SQLite check that its plan uses the index. */
export const DUE_FACTS_SQL = `SELECT message_seq FROM notice_due {INDEXED BY notice_due_from|}
  WHERE due_from <= ? ORDER BY due_from LIMIT ?`;

/** Column `delivery.notify`. */
export function notifyBits(kinds: readonly NoticeKind[] | undefined): number | null {
  if (kinds === undefined || kinds.length === 0) return null;
  return kinds.reduce((bits, kind) => bits | noticeKindCode.of(kind), 0);
}

/** The kind of notice for an outcome; null if there is none. */
export function toldAs(state: Settlement['state']): NoticeKind | null {
  switch (state) {
    case 'delivered':
      return 'success';
    case 'queued':
      return 'delay';
    case 'bounced':
    case 'failed':
    case 'suppressed':
    case 'rejected':
      return 'failure';
    case 'sending':
    case 'canceled':
      return null;
  }
}

/** A fact about a recipient, as far as the store knows it when it happens. */
export interface Fact {
  messageSeq: number;
  deliveryId: number;
  /** Column `notify` of its row. */
  notify: number;
  kind: NoticeKind;
  eventSeq: number | null;
  at: number;
}

/** A fact that a notice reports, with its recipient. */
export interface FactRow {
  kind: number;
  at: number;
  address: string;
  state: number;
  route: number | null;
  expires_at: number;
  last_reply: string | null;
  detail: string | null;
}

/** Column `message_notice.orcpts`. */
export function orcptsOf({ recipients }: NewMessage): string | null {
  const given = recipients.flatMap(({ address, orcpt }) =>
    orcpt === undefined ? [] : [[address, orcpt] as const],
  );
  return given.length === 0 ? null : JSON.stringify(Object.fromEntries(given));
}

/** `orcpts`: what the sender gave for each address (column `message_notice.orcpts`). */
function recipientOf(row: FactRow, orcpts: Readonly<Record<string, string>>): DueRecipient {
  return {
    address: row.address,
    orcpt: Object.hasOwn(orcpts, row.address) ? (orcpts[row.address] ?? null) : null,
    kind: noticeKindCode.word(row.kind),
    at: row.at,
    state: stateCode.word(row.state),
    route: row.route === null ? null : routeCode.word(row.route),
    expiresAt: row.expires_at,
    lastReply: row.last_reply,
    detail: row.detail === null ? null : (JSON.parse(row.detail) as EventDetail),
  };
}

export interface NoticeRow {
  message_id: StoredId;
  subject: string;
  created_at: number;
  body_offset: number;
  sandbox: StoredFlag;
  sender: string;
  ret: StoredFlag | null;
  envid: string | null;
  orcpts: string | null;
  up_to: number;
  oldest_at: number;
  /** Notices to the sender in this hour. */
  told: number | null;
}

/** `facts`: the first of `total`. */
export function noticeView(
  messageSeq: number,
  row: NoticeRow,
  facts: readonly FactRow[],
  total: number,
): DueNotice {
  const orcpts = row.orcpts === null ? {} : (JSON.parse(row.orcpts) as Record<string, string>);
  return {
    messageSeq,
    messageId: idOf(row.message_id) as MessageId,
    subject: row.subject,
    createdAt: row.created_at,
    bodyOffset: row.body_offset,
    sandbox: isTrue(row.sandbox),
    sender: row.sender,
    ret: row.ret === null ? null : isTrue(row.ret) ? 'FULL' : 'HDRS',
    envid: row.envid,
    upToId: row.up_to,
    oldestAt: row.oldest_at,
    recipients: facts.map((fact) => recipientOf(fact, orcpts)),
    more: total - facts.length,
    toldThisHour: row.told ?? 0,
  };
}
