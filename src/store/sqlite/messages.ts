/**
 * Reading messages: contents for delivery, one message with its recipients, and lists. Lists go newest first by seq
 * and are paged by it; several domains are read one by one through the domain index and merged.
 */
import { uuidText } from '../../lib/ids.ts';
import type { AddressLists, MessageId } from '../../model/message.ts';
import type { MessageFilter, MessageView, RecipientView } from '../topics/messages.ts';
import { laneCode, recipientKindCode, routeCode, stateCode } from './codes.ts';
import type { Connection } from './connection.ts';
import { idBytes } from './events.ts';
import { createFilter } from './filter.ts';
import type { ParamsOf } from './operation-types.ts';
import { domainIdsIn, findNameIds } from './session.ts';

const VIEW = `SELECT m.seq, m.id, m.lane, m.lists, m.subject, m.tags, m.metadata, m.sandbox, m.personal, m.size, m.created_at,
  m.expires_at, m.send_at, m.expiry_given, n.text AS domain`;
const FROM_MESSAGE = 'FROM message m CROSS JOIN name n ON n.id = m.domain_id';
/** Goes by the pair that was asked for, newest message first. Tests hold its plan to the index. */
export const FROM_METADATA = `FROM message_metadata x CROSS JOIN message m ON m.seq = x.message_seq
  CROSS JOIN name n ON n.id = m.domain_id`;

/** Composed bytes of a message, or null where they are no longer kept. */
export function readContent(db: Connection, params: ParamsOf<'readContent'>): Uint8Array | null {
  const sql = 'SELECT bytes FROM content WHERE message_seq = ?';
  return db.get<{ bytes: Uint8Array }>(sql, params.messageSeq)?.bytes ?? null;
}

/** One message with its recipients, or null where it does not exist in those domains. */
export function getMessage(db: Connection, params: ParamsOf<'getMessage'>): MessageView | null {
  const id = idBytes(params.id);
  if (id === null) return null;
  const row = db.get<MessageRow>(`${VIEW} ${FROM_MESSAGE} WHERE m.id = ?`, id);
  if (row === undefined || params.domains?.includes(row.domain) === false) return null;
  return toView(db, row);
}

/** Messages that match every given condition, newest first. */
export function listMessages(db: Connection, params: MessageFilter): MessageView[] {
  // Metadata is indexed by domain: who asks over all of them steps from one to the next.
  const domainIds =
    findNameIds(db, params.domains) ??
    (params.metadata === undefined ? [undefined] : domainsWithMetadata(db));
  const rows = domainIds.flatMap((domainId) => listOf(db, params, domainId));
  rows.sort((a, b) => b.seq - a.seq);
  return rows.slice(0, params.limit).map((row) => toView(db, row));
}

/** The newest matches of one domain; undefined = of all. */
function listOf(db: Connection, params: MessageFilter, domainId: number | undefined): MessageRow[] {
  const filter = createFilter();
  const [pair, ...otherPairs] = params.metadata ?? [];
  if (pair === undefined) {
    filter.when('m.domain_id = ?', domainId);
    filter.when('m.seq < ?', params.beforeSeq);
  } else {
    filter.when('x.domain_id = ?', domainId);
    filter.when('x.name = ?', pair[0]);
    filter.when('x.value = ?', pair[1]);
    filter.when('x.message_seq < ?', params.beforeSeq);
  }
  for (const [name, value] of otherPairs) {
    filter.when(
      `EXISTS (SELECT 1 FROM (SELECT ? AS pair) p CROSS JOIN message_metadata y WHERE y.domain_id = m.domain_id
         AND y.name = p.pair ->> '$[0]' AND y.value = p.pair ->> '$[1]' AND y.message_seq = m.seq)`,
      JSON.stringify([name, value]),
    );
  }
  filter.when('m.from_address = ?', params.from);
  filter.when('EXISTS (SELECT 1 FROM delivery WHERE message_seq = m.seq AND address = ?)', params.to);
  filter.when('instr(fold(m.subject), ?) > 0', params.subject?.toLowerCase());
  filter.when('EXISTS (SELECT 1 FROM json_each(m.tags) WHERE value = ?)', params.tag);
  filter.when('m.created_at >= ?', params.since);
  filter.when('m.created_at < ?', params.until);
  if (params.states !== undefined) {
    filter.when(
      `EXISTS (SELECT 1 FROM delivery
         WHERE message_seq = m.seq AND state IN (SELECT value FROM json_each(?)))`,
      JSON.stringify(params.states.map(stateCode.of)),
    );
  }
  return db.all<MessageRow>(
    pair === undefined
      ? `${VIEW} ${FROM_MESSAGE} ${filter.where()} ORDER BY m.seq DESC LIMIT ?`
      : `${VIEW} ${FROM_METADATA} ${filter.where()} ORDER BY x.message_seq DESC LIMIT ?`,
    ...filter.values(),
    params.limit,
  );
}

/** Numbers of the sender domains that have metadata, one step of the index each. */
function domainsWithMetadata(db: Connection): number[] {
  return domainIdsIn(db, 'message_metadata');
}

interface MessageRow {
  seq: number;
  id: Uint8Array;
  lane: number;
  lists: string;
  subject: string;
  tags: string | null;
  metadata: string | null;
  sandbox: number;
  personal: number;
  size: number;
  created_at: number;
  expires_at: number;
  send_at: number | null;
  expiry_given: number;
  domain: string;
}

function toView(db: Connection, row: MessageRow): MessageView {
  return {
    seq: row.seq,
    id: uuidText(row.id) as MessageId,
    domain: row.domain,
    lane: laneCode.word(row.lane),
    lists: JSON.parse(row.lists) as AddressLists,
    subject: row.subject,
    tags: row.tags === null ? [] : (JSON.parse(row.tags) as string[]),
    metadata: row.metadata === null ? {} : (JSON.parse(row.metadata) as Record<string, string>),
    sandbox: row.sandbox === 1,
    listUnsubscribe: row.personal === 3,
    size: row.size,
    createdAt: row.created_at,
    sendAt: row.send_at,
    expiresAt: row.expires_at,
    expiryGiven: row.expiry_given === 1,
    recipients: recipientsOf(db, row.seq),
  };
}

function recipientsOf(db: Connection, messageSeq: number): RecipientView[] {
  const rows = db.all<{
    id: number;
    address: string;
    kind: number;
    state: number;
    attempts: number;
    due_at: number;
    expires_at: number;
    wait_reason: string | null;
    last_code: number | null;
    last_reply: string | null;
    last_category: string | null;
    route: number | null;
    updated_at: number;
    route_key: string;
  }>(
    `SELECT d.*, q.route_key FROM delivery d CROSS JOIN dest_queue q ON q.id = d.queue_id
     WHERE d.message_seq = ? ORDER BY d.id`,
    messageSeq,
  );
  return rows.map((row) => ({
    deliveryId: row.id,
    address: row.address,
    kind: recipientKindCode.word(row.kind),
    state: stateCode.word(row.state),
    routeKey: row.route_key,
    attempts: row.attempts,
    dueAt: row.due_at,
    expiresAt: row.expires_at,
    waitReason: row.wait_reason,
    lastCode: row.last_code ?? 0,
    lastReply: row.last_reply,
    lastCategory: row.last_category,
    route: row.route === null ? null : routeCode.word(row.route),
    updatedAt: row.updated_at,
  }));
}
