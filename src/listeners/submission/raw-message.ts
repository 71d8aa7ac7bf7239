/**
 * Turns a submitted message into the message that is sent. It stays the same octet for octet except: our Received field
 * is added, Date and Message-ID if they are missing or empty, Bcc and fields that only a receiver may write are removed,
 * and the `X-Postrider-` fields are read and removed. Only the envelope decides who gets it; To and Cc only decide who
 * may be shown. Returns a submission for acceptance and the stretches that make up the message, or the reply that
 * refuses it.
 */

import { type Author, parseAuthor } from '../../mail/author-field.ts';
import { decodeWords } from '../../mail/decode-words.ts';
import { OWN_PREFIX, repeatedField, submittedField } from '../../mail/header-rules.ts';
import { type ListedMailbox, parseMailboxList } from '../../mail/mailbox-list.ts';
import {
  type RawField,
  type RawHeader,
  rawFieldValue,
  readHeaderToSend,
  strictFieldValue,
} from '../../mail/raw-header.ts';
import type { MessageId, RecipientKind } from '../../model/message.ts';
import type { NoticeKind } from '../../model/notice.ts';
import { type RawSubmission, SUBMISSION_DEFAULTS, type SubmittedRecipient } from '../../model/submission.ts';
import { DATE_OFFSET, dateText } from '../../pipeline/compose/compose.ts';
import { reply } from '../../smtp/server-reply.ts';
import type {
  RcptTo,
  ReceivedMessage,
  ServerEnvelope,
  ServerReply,
  SessionFacts,
} from '../../smtp/server-types.ts';
import { readExtensionFields } from './extension-fields.ts';

export interface RawContext {
  envelope: ServerEnvelope;
  message: ReceivedMessage;
  facts: SessionFacts;
  /** Of the peer. */
  ip: string;
  hostname: string;
  /** The minimum of labels of a domain. */
  minLabels: number;
  messageId: MessageId;
  nowMs: number;
  /** Whether the sender gets notices by mail. */
  notices: boolean;
}

export interface RawRefusal {
  kind: 'refused';
  reply: ServerReply;
}

export interface RawResult {
  kind: 'message';
  submission: RawSubmission;
  /** `dateOffset`: the offset of our Date; null = the message had its own. */
  composed: {
    /** The message in stretches, most of them of the original. */
    parts: readonly Uint8Array[];
    bodyOffset: number;
    needsSmtpUtf8: boolean;
    eightBit: boolean;
    dateOffset: number | null;
  };
  idempotencyKey: string | null;
}

/** RFC 5321 §6.3. */
const MAX_RECEIVED = 100;
const MAX_SUBJECT_CHARS = 998;
/** An empty one identifies nothing (RFC 5322 §3.6). */
const OURS_IF_EMPTY = new Set(['date', 'message-id']);
const MAX_SHOWN_NAME_CHARS = 256;
const CRLF = Buffer.from('\r\n');

type Header = Extract<RawHeader, { kind: 'header' }>;

/** Reads and rewrites; an invalid message is refused. Throws the AppErrors of the extension fields. */
export function readRawMessage(context: RawContext): RawResult | RawRefusal {
  const { message, envelope } = context;
  const { bytes } = message;
  const header = readHeaderToSend(bytes);
  if (header.kind === 'malformed') return refused(`The message is malformed: ${header.detail}`);
  if (header.fields.filter(({ name }) => name === 'received').length > MAX_RECEIVED) {
    return {
      kind: 'refused',
      reply: reply(554, '5.4.6', 'Too many Received fields: the message goes in circles'),
    };
  }
  const repeated = repeatedField(header.fields.map(({ name }) => name));
  if (repeated !== null) {
    return refused(`The message has more than one ${repeated} field; send only one`);
  }
  const author = readAuthor(context, header);
  if (typeof author === 'string') return refused(author);
  const senders = readSenders(context, header);
  if (typeof senders === 'string') return refused(senders);
  const { name, address } = author;
  const extensions = readExtensionFields(
    header.fields
      .filter(({ name }) => name.startsWith(OWN_PREFIX))
      .map((field) => [field.name.slice(OWN_PREFIX.length), rawFieldValue(bytes, field)] as const),
    context.nowMs,
  );
  const subject = firstValue(bytes, header, 'subject');
  const submission: RawSubmission = {
    ...SUBMISSION_DEFAULTS,
    from: { name: name.slice(0, MAX_SHOWN_NAME_CHARS).toWellFormed(), address: address.text },
    fromDomain: address.domain,
    claimedDomains: [...author.shown, ...senders],
    envelopeDomain: envelope.from.address?.domain ?? null,
    notice: noticeWish(context),
    recipients: recipientsOf(context, header),
    replyTo: mailboxesOf(context, header, 'reply-to').map(({ name, address }) => ({ name, address })),
    subject: decodeWords(subject ?? '')
      .slice(0, MAX_SUBJECT_CHARS)
      .toWellFormed(),
    tags: extensions.tags,
    metadata: extensions.metadata,
    sendAt: extensions.sendAt,
    expiresAt: extensions.expiresAt,
    lane: extensions.lane,
    sandbox: extensions.sandbox,
    keepContent: extensions.keepContent,
    personal: extensions.personal,
  };
  return {
    kind: 'message',
    submission,
    composed: rewrite(context, header, address.domain, extensions.sendAt ?? context.nowMs),
    idempotencyKey: extensions.idempotencyKey,
  };
}

/** The single author. With two addresses, a program could show another author than the checked one. */
function readAuthor(context: RawContext, header: Header): Author | string {
  const field = header.fields.find(({ name }) => name === 'from');
  return field === undefined ? 'The message has no From field' : authorIn(context, field, 'From');
}

/** The domains that Sender and similar fields claim, and those shown in names. */
function readSenders(context: RawContext, header: Header): readonly string[] | string {
  const domains: string[] = [];
  for (const field of header.fields) {
    if (submittedField(field.name) !== 'sender') continue;
    const found = authorIn(context, field, field.name);
    if (typeof found === 'string') return found;
    domains.push(found.address.domain, ...found.shown);
  }
  return domains;
}

function authorIn({ message, minLabels }: RawContext, field: RawField, title: string): Author | string {
  const value = strictFieldValue(message.bytes, field);
  if (value === null) return `The ${title} field is folded, encoded or spaced as no field is today`;
  const parsed = parseAuthor(value, minLabels);
  return parsed.ok ? parsed.author : `The ${title} field ${parsed.problem}`;
}

/** The envelope's recipients, each once. Those in To or Cc are shown there; all others stay hidden. */
function recipientsOf(context: RawContext, header: Header): SubmittedRecipient[] {
  const { envelope, notices } = context;
  const tells = notices && envelope.from.address !== null;
  const shown = new Map<string, { name: string; kind: RecipientKind }>();
  for (const [field, kind] of [
    ['cc', 'CC'],
    ['to', 'To'],
  ] as const) {
    for (const { name, address } of mailboxesOf(context, header, field)) shown.set(address, { name, kind });
  }
  const found = new Map<string, SubmittedRecipient>();
  for (const to of envelope.recipients) {
    const { address } = to;
    if (address === null || found.has(address.text)) continue;
    const listed = shown.get(address.text);
    found.set(address.text, {
      name: listed?.name ?? '',
      address: address.text,
      domain: address.domain,
      kind: listed?.kind ?? 'BCC',
      ...(tells ? wishOf(to) : {}),
    });
  }
  const order: readonly RecipientKind[] = ['To', 'CC', 'BCC'];
  return [...found.values()].sort((a, b) => order.indexOf(a.kind) - order.indexOf(b.kind));
}

/** The null sender never gets notices (RFC 5321 §4.5.5). */
function noticeWish({ envelope, notices }: RawContext): RawSubmission['notice'] {
  const { address, ret, envid } = envelope.from;
  return address === null || !notices ? null : { sender: address.text, ret, envid };
}

/** RFC 3461 §4.1: the default is a notice of failure. */
function wishOf({ notify, orcpt }: RcptTo): Pick<SubmittedRecipient, 'notify' | 'orcpt'> {
  const kinds: NoticeKind[] = notify.length === 0 ? ['failure'] : [];
  if (notify.includes('SUCCESS')) kinds.push('success');
  if (notify.includes('FAILURE')) kinds.push('failure');
  if (notify.includes('DELAY')) kinds.push('delay');
  return kinds.length === 0 ? {} : { notify: kinds, ...(orcpt === null ? {} : { orcpt }) };
}

/** Of every field with this name, those that can be read. */
function mailboxesOf(
  { message, minLabels }: RawContext,
  header: Header,
  name: string,
): readonly ListedMailbox[] {
  return header.fields.flatMap((field) => {
    if (field.name !== name) return [];
    return parseMailboxList(rawFieldValue(message.bytes, field), minLabels);
  });
}

function firstValue(bytes: Uint8Array, header: Header, name: string): string | null {
  const field = header.fields.find((each) => each.name === name);
  return field === undefined ? null : rawFieldValue(bytes, field);
}

function rewrite(context: RawContext, header: Header, fromDomain: string, dateMs: number) {
  const { message, messageId } = context;
  const { bytes } = message;
  const empty = header.fields.filter(
    (field) => OURS_IF_EMPTY.has(field.name) && rawFieldValue(bytes, field) === '',
  );
  const has = (name: string) => header.fields.some((field) => field.name === name && !empty.includes(field));
  let added = receivedField(context);
  const dateOffset = has('date') ? null : Buffer.byteLength(added, 'latin1') + DATE_OFFSET;
  if (dateOffset !== null) added += `Date: ${dateText(dateMs)}\r\n`;
  if (!has('message-id')) added += `Message-ID: <${messageId}@${fromDomain}>\r\n`;
  const parts: Uint8Array[] = [Buffer.from(added, 'latin1'), ...keptParts(bytes, header, empty)];
  const headerBytes = parts.reduce((sum, part) => sum + part.length, 0);
  // A header without anything after it gets its empty line: signatures need to know where it ends.
  const separator =
    header.bodyOffset === header.headerEnd ? [CRLF] : [bytes.subarray(header.headerEnd, header.bodyOffset)];
  return {
    parts: [...parts, ...separator, bytes.subarray(header.bodyOffset)],
    dateOffset,
    bodyOffset: headerBytes + 2,
    // Requested and needed: a header in raw UTF-8 (RFC 6532). Addresses are checked separately.
    needsSmtpUtf8: context.envelope.from.smtpUtf8 && header.eightBit,
    eightBit: message.eightBit,
  };
}

/** The header without the removed and the replaced fields, as stretches of the original. */
function keptParts(bytes: Uint8Array, header: Header, replaced: readonly RawField[]): Uint8Array[] {
  const parts: Uint8Array[] = [];
  let from = 0;
  for (const field of header.fields) {
    if (submittedField(field.name) !== 'removed' && !replaced.includes(field)) continue;
    if (field.start > from) parts.push(bytes.subarray(from, field.start));
    from = field.end;
  }
  if (header.headerEnd > from) parts.push(bytes.subarray(from, header.headerEnd));
  return parts;
}

/** RFC 5321 §4.4, protocol names by RFC 3848. No `for`: with several recipients it would disclose one to the others. */
function receivedField({ facts, ip, hostname, messageId, nowMs, envelope }: RawContext): string {
  const secure = facts.secured ? 'S' : '';
  const known = facts.authenticated ? 'A' : '';
  const protocol = !facts.esmtp
    ? 'SMTP'
    : `${envelope.from.smtpUtf8 ? 'UTF8SMTP' : 'ESMTP'}${secure}${known}`;
  const address = ip.includes(':') ? `IPv6:${ip}` : ip;
  const by = `${hostname} (Postrider)\r\n\twith ${protocol} id ${messageId}`;
  return `Received: from ${facts.helo} ([${address}])\r\n\tby ${by};\r\n\t${dateText(nowMs)}\r\n`;
}

function refused(text: string): RawRefusal {
  return { kind: 'refused', reply: reply(550, '5.6.0', text) };
}
