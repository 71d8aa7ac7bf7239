/**
 * What a transfer copies, table by table, and what it leaves out and why. A test compares this with the schemas of
 * both engines, so that a new table or column cannot be forgotten.
 */

import { SUMMED } from '../store/shared/event-sums.ts';

export interface CopiedTable {
  name: string;
  /** Columns by which the table is read in portions: unique, and sorted in the same way by both engines. */
  key: readonly [string, ...string[]];
  /** The column that the database numbers; a number is never given twice. */
  numbered?: string;
  /** Columns whose values may be so large that fewer rows are read at once. */
  large?: readonly [string, ...string[]];
}

/**
 * The order matters: while rows arrive, triggers of SQLite count queues and webhook calls, and look up their queue
 * and webhook. Rows are in SQLite's forms: ids as 16 octets, lists as JSON, booleans as 0 and 1.
 */
export const COPIED: readonly CopiedTable[] = [
  { name: 'meta', key: ['name'] },
  { name: 'name', key: ['id'], numbered: 'id' },
  { name: 'signing_key', key: ['kid'] },
  { name: 'token', key: ['id'] },
  { name: 'smtp_credential', key: ['id'] },
  { name: 'person', key: ['id'] },
  { name: 'person_session', key: ['id'] },
  { name: 'domain', key: ['id'], numbered: 'id' },
  { name: 'domain_key', key: ['id'], numbered: 'id' },
  { name: 'dmarc_report', key: ['id'], numbered: 'id', large: ['counts'] },
  { name: 'template', key: ['seq'], numbered: 'seq' },
  { name: 'template_version', key: ['seq'], numbered: 'seq', large: ['html', 'plain'] },
  { name: 'sandbox_rule', key: ['seq'], numbered: 'seq' },
  { name: 'sandbox_rule_use', key: ['delivery_id'] },
  { name: 'webhook', key: ['id'], numbered: 'id' },
  { name: 'webhook_resume', key: ['webhook_id'] },
  { name: 'quota_use', key: ['domain_id', 'period'] },
  { name: 'hold', key: ['id'] },
  { name: 'override', key: ['id'] },
  { name: 'egress_fact', key: ['kind', 'key'] },
  { name: 'mta_sts', key: ['domain'] },
  { name: 'path_state', key: ['key'] },
  { name: 'path_change', key: ['id'], numbered: 'id' },
  { name: 'warmup', key: ['source', 'provider'] },
  { name: 'alert', key: ['kind', 'subject'] },
  { name: 'alert_mail', key: ['id'] },
  { name: 'audit', key: ['id'] },
  { name: 'suppression', key: ['id'], numbered: 'id' },
  { name: 'suppression_evidence', key: ['domain_id', 'key', 'reason'] },
  { name: 'opt_out_reader', key: ['id'], numbered: 'id' },
  { name: 'opt_out_link', key: ['delivery_id'] },
  { name: 'cause', key: ['id'], numbered: 'id' },
  { name: 'dest_queue', key: ['id'], numbered: 'id' },
  // A message to a thousand recipients names them all.
  { name: 'message', key: ['seq'], numbered: 'seq', large: ['lists'] },
  { name: 'message_metadata', key: ['domain_id', 'name', 'value', 'message_seq'] },
  { name: 'message_notice', key: ['message_seq'] },
  { name: 'content', key: ['message_seq'], large: ['bytes'] },
  { name: 'delivery', key: ['id'], numbered: 'id' },
  { name: 'return_fact', key: ['delivery_id', 'kind', 'class', 'attempts'] },
  { name: 'notice_due', key: ['id'], numbered: 'id' },
  { name: 'notice_count', key: ['sender', 'hour'] },
  { name: 'capture', key: ['seq'], numbered: 'seq', large: ['prefix'] },
  { name: 'capture_text', key: ['message_seq'], large: ['text'] },
  { name: 'capture_unread', key: ['message_seq'] },
  { name: 'event', key: ['seq'], numbered: 'seq' },
  // Also of events that were removed with their messages since.
  { name: 'event_sum', key: ['domain_id', 'breakdown', 'span', 'at', 'kind', 'sandbox', 'name'] },
  { name: 'webhook_call', key: ['id'], numbered: 'id' },
  { name: 'later_call', key: ['domain_id', 'event_seq'] },
  // The answer to a batch names all of its messages.
  { name: 'idempotency', key: ['id'], numbered: 'id', large: ['body'] },
  { name: 'leftover', key: ['kind', 'owner'] },
];

/** Rows of `meta` that belong to the instance; the others describe one database. */
export const COPIED_META = ['instance_id', 'erasing_key', 'route_tags', 'route_refile', SUMMED] as const;

/** Tables that are not copied. */
export const LEFT_OUT: Readonly<Record<string, string>> = {
  node: 'which processes worked on the database; none does during a transfer',
  node_lease: 'what each of these did alone',
  probe: 'a row by which it is tried whether the disk can be written',
  era: 'the partitions of PostgreSQL',
  migration: 'the schema of PostgreSQL',
  // SQLite keeps them up to date as rows are written.
  audit_count: 'counted while rows arrive',
  inbox: 'counted while rows arrive',
  kept_content: 'in PostgreSQL, columns of content',
  recipient_index: 'upkeep makes it again in SQLite',
  stored_bytes: 'counted while rows arrive',
  total: 'counted while rows arrive',
  unfinished: 'counted while rows arrive',
  waiting_hook: 'counted while rows arrive',
  waiting_queue: 'counted while rows arrive',
};

/** Columns that only PostgreSQL has. */
export const POSTGRES_ONLY: Readonly<Record<string, readonly string[]>> = {
  // In SQLite, `kept_content`; the coding is always 0.
  content: ['domain_id', 'size', 'coding'],
};

export type Value = string | number | Uint8Array | null;
export type Row = Readonly<Record<string, Value>>;

const QUEUED = 0;
const SENDING = 1;

/**
 * The row as it is stored in the other database. If a process was killed while it sent a message or made a call,
 * these wait again; the message may have arrived already.
 */
export function arriving(table: string, row: Row): Row {
  if (row.state !== SENDING) return row;
  if (table === 'delivery') return { ...row, state: QUEUED, epoch: 0, may_be_duplicate: 1 };
  return table === 'webhook_call' ? { ...row, state: QUEUED, epoch: 0 } : row;
}
