/**
 * The mail transactions of one session, one after the other (RFC 5321 §3.3): a sender, its recipients and their message. Takes
 * MAIL, RCPT, DATA and the octets of a message; returns what they are answered. A transaction ends with its message, whatever
 * becomes of that, or is forgotten. Memory: one message within its limit.
 */
import type { Clock } from '../lib/clock.ts';
import { MAX_ENDLESS_BYTES, parseRcpt } from './server-commands.ts';
import { createDataReader, type DataFault, type DataReader } from './server-data.ts';
import type { ServerInput } from './server-input.ts';
import { REPLIES, reply, tooLarge } from './server-reply.ts';
import type {
  MailFrom,
  RcptTo,
  ServerAnswer,
  ServerEnvelope,
  ServerHandler,
  ServerReply,
  ServerSessionOptions,
  SessionFacts,
} from './server-types.ts';

interface ServerTransaction {
  /** The sender that was accepted; null: no transaction is open. */
  from(): MailFrom | null;
  mail(from: MailFrom, facts: SessionFacts): ServerAnswer;
  rcpt(argument: string, facts: SessionFacts): ServerAnswer;
  data(): ServerReply;
  /** A message is arriving. */
  isInData(): boolean;
  /** It is known whom a message is for that has not come, or is arriving as fast as it must. */
  getsOn(): boolean;
  /** The next octets of it. */
  readData(input: ServerInput, facts: SessionFacts): ServerAnswer;
  /** When it must have arrived (monotonic); infinite if none does. */
  dueMs(): number;
  forget(): void;
}

const DATA_FAULTS: Readonly<Record<Exclude<DataFault, 'long-line' | 'too-large'>, ServerReply>> = {
  'bare-line-end': REPLIES.bareInData,
  nul: REPLIES.nulInData,
  'no-room': REPLIES.noRoom,
};

/** Recipients above the limit of one transaction that a client may send before it reads the answers. */
const MAX_EXCESS_RECIPIENTS = 1000;
/** A message may take so long before its place is as free as that of an idle connection, beside what its size takes. */
const FIRST_OCTETS_MS = 5_000;

export function createServerTransaction(
  { clock, handler }: { clock: Clock; handler: ServerHandler },
  { limits, dsn, minLabels, memory }: ServerSessionOptions,
): ServerTransaction {
  let from: MailFrom | null = null;
  let recipients: RcptTo[] = [];
  let refusedRecipients = 0;
  let excessRecipients = 0;
  let arriving: { envelope: ServerEnvelope; reader: DataReader; startedMs: number } | null = null;

  return {
    from: () => from,
    async mail(sender, facts) {
      const verdict = (await handler.onMail(sender, facts)) ?? REPLIES.sender;
      if (verdict.code < 300) from = sender;
      return verdict;
    },
    rcpt(argument, facts) {
      if (from === null) return REPLIES.needMail;
      const parsed = parseRcpt(argument, { smtpUtf8: from.smtpUtf8, dsn, minLabels });
      if (!parsed.ok) {
        refusedRecipients += 1;
        return parsed.reply;
      }
      if (recipients.length >= limits.maxRecipients) {
        excessRecipients += 1;
        return excessRecipients > MAX_EXCESS_RECIPIENTS ? REPLIES.tooManyErrors : REPLIES.tooManyRecipients;
      }
      return askFor(parsed.value, { from, recipients }, facts);
    },
    data() {
      if (from === null) return REPLIES.needMail;
      if (recipients.length === 0) return refusedRecipients > 0 ? REPLIES.noRecipient : REPLIES.needRcpt;
      const { maxMessageBytes: maxBytes, maxLineBytes } = limits;
      const reader = createDataReader({ maxBytes, maxLineBytes }, from.size ?? 0, memory?.());
      arriving = { envelope: { from, recipients }, reader, startedMs: clock.monotonicMs() };
      return REPLIES.data;
    },
    isInData: () => arriving !== null,
    getsOn: () =>
      recipients.length > 0 && clock.monotonicMs() < dueMs() - limits.dataGraceMs + FIRST_OCTETS_MS,
    readData(input, facts) {
      if (arriving === null) return null;
      const { envelope, reader } = arriving;
      const isAtEnd = input.readData(reader);
      if (reader.received() > 2 * limits.maxMessageBytes + MAX_ENDLESS_BYTES)
        return { ...tooLarge(limits.maxMessageBytes), close: true };
      if (!isAtEnd) return null;
      arriving = null;
      forget();
      return refusalOf(reader) ?? deliver(envelope, reader, facts);
    },
    dueMs,
    forget,
  };

  function dueMs(): number {
    if (arriving === null) return Number.POSITIVE_INFINITY;
    const seconds = arriving.reader.received() / limits.minBytesPerSecond;
    return arriving.startedMs + limits.dataGraceMs + seconds * 1000;
  }

  async function askFor(to: RcptTo, envelope: ServerEnvelope, facts: SessionFacts): Promise<ServerReply> {
    const verdict = (await handler.onRcpt(to, envelope, facts)) ?? REPLIES.recipient;
    if (verdict.code < 300) recipients.push(to);
    else refusedRecipients += 1;
    return verdict;
  }

  function refusalOf(reader: DataReader): ServerReply | null {
    const fault = reader.fault();
    if (fault === 'long-line')
      return reply(
        554,
        '5.6.0',
        `A line of the message is longer than ${limits.maxLineBytes} octets; break it, or encode the text as quoted-printable or base64`,
      );
    if (fault === 'too-large') return tooLarge(limits.maxMessageBytes);
    return fault === null ? null : DATA_FAULTS[fault];
  }

  async function deliver(
    envelope: ServerEnvelope,
    reader: DataReader,
    facts: SessionFacts,
  ): Promise<ServerReply> {
    try {
      const message = { bytes: reader.bytes(), eightBit: reader.isEightBit() };
      return await handler.onMessage(envelope, message, facts);
    } finally {
      reader.release();
    }
  }

  function forget(): void {
    from = null;
    recipients = [];
    refusedRecipients = 0;
    excessRecipients = 0;
    arriving?.reader.release();
    arriving = null;
  }
}
