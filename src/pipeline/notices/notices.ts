/**
 * Notices to senders of SMTP mail (RFC 3461, RFC 3464). Takes the due facts from the store, grouped by message and
 * after a short wait, so that recipients that fail together share a notice, and writes a report to the envelope sender.
 * The report is accepted like any mail: from the sender's own domain and signed, with the null sender, tagged `notice`.
 * The commit of a notice removes its facts, so each is reported once, even after a crash. Notices per sender and hour
 * are limited; the others wait for at most a day. A notice that can never be written is dropped and logged; the events
 * stay.
 */
import type { Clock } from '../../lib/clock.ts';
import { AppError } from '../../lib/errors.ts';
import { uuidv7 } from '../../lib/ids.ts';
import type { Logger } from '../../lib/log.ts';
import type { Random } from '../../lib/random.ts';
import { createRounds } from '../../lib/rounds.ts';
import type { Service } from '../../lib/service.ts';
import { parseAddress } from '../../mail/address.ts';
import {
  isSevenBitMessage,
  SENDER_NAME,
  type StatusReport,
  writeStatusReport,
} from '../../mail/dsn-writer.ts';
import type { MessageId } from '../../model/message.ts';
import { SUBMISSION_DEFAULTS } from '../../model/submission.ts';
import { type Store, StoreUnavailable } from '../../store/store.ts';
import type { DueNotice } from '../../store/topics/notices.ts';
import type { NoticeAcceptance } from '../accept/acceptance.ts';
import { dateText } from '../compose/compose.ts';
import type { NoticeMetrics } from './notice-metrics.ts';
import { noticeWords } from './notice-text.ts';

export interface Notices extends Service {
  /** Writes the due notices now; for tests and the service itself. */
  look(): Promise<void>;
}

interface Deps {
  store: Pick<Store, 'dueNotices' | 'putOffNotices' | 'readContent'>;
  acceptance: NoticeAcceptance;
  clock: Clock;
  random: Random;
  /** The service log. */
  log: Logger;
  metrics: NoticeMetrics;
}

export interface NoticeOptions {
  /** Reporting-MTA. */
  hostname: string;
  /** From the first fact to the notice. */
  waitMs: number;
  /** To one sender. */
  perHour: number;
  /** Largest message that is returned completely; of a larger one, only its header. */
  maxWholeBytes?: number;
}

/** The tag of every notice. */
const NOTICE_TAG = 'notice';
/** Recipients that a notice lists. */
const MAX_RECIPIENTS = 100;
const PAGE = 20;
const MAX_WHOLE_BYTES = 256 * 1024;
const MAX_HEADER_BYTES = 64 * 1024;
const LOOK_EVERY_MS = 5_000;
const HOUR_MS = 3_600_000;
/** Facts that could not be reported for this long are dropped. */
const TOO_OLD_MS = 24 * HOUR_MS;
/** If a refusal asks for a longer wait than this, the notice is put off. */
const PASSES_SECONDS = 60;

/** Nothing happens before `start`. */
export function createNotices(deps: Deps, options: NoticeOptions): Notices {
  const { store, acceptance, clock, random, log, metrics } = deps;
  const maxWholeBytes = options.maxWholeBytes ?? MAX_WHOLE_BYTES;
  const rounds = createRounds({
    clock,
    everyMs: Math.max(50, Math.min(LOOK_EVERY_MS, options.waitMs)),
    work: () => look(rounds.isRunning),
    failed: (err) => log.warn({ err }, 'notices could not be written; they wait'),
  });
  return {
    start: rounds.start,
    stop: rounds.stop,
    look: () => look(() => true),
  };

  /** Rejects if the store or acceptance must be asked again later. */
  async function look(goesOn: () => boolean): Promise<void> {
    for (let full = true; full && goesOn(); ) {
      const now = clock.now();
      const due = await store.dueNotices({
        dueBefore: now - options.waitMs,
        now,
        limit: PAGE,
        maxRecipients: MAX_RECIPIENTS,
      });
      // Read once for the whole page; notices written from it are added.
      const written = new Map<string, number>();
      for (const notice of due) {
        if (!goesOn()) return;
        await handle(notice, written);
      }
      full = due.length > 0;
    }
  }

  /** Afterwards the facts are reported, put off or removed, so they are not found again at once. */
  async function handle(notice: DueNotice, written: Map<string, number>): Promise<void> {
    const now = clock.now();
    const { messageSeq, upToId, messageId, sender } = notice;
    if (notice.recipients.length === 0) {
      await store.putOffNotices({ messageSeq, upToId, dueFrom: null });
      return;
    }
    const before = written.get(sender) ?? 0;
    if (notice.toldThisHour + before >= options.perHour) {
      if (now - notice.oldestAt > TOO_OLD_MS) {
        await drop(notice, `more than ${options.perHour} notices an hour, for a day`);
        return;
      }
      const nextHour = (Math.floor(now / HOUR_MS) + 1) * HOUR_MS;
      await store.putOffNotices({ messageSeq, upToId, dueFrom: nextHour - options.waitMs });
      metrics.count('put_off');
      return;
    }
    const to = parseAddress(sender, 1);
    if (!to.ok) {
      await drop(notice, `its sender ${to.problem}`);
      return;
    }
    try {
      const id = uuidv7(clock, random) as MessageId;
      const told = await acceptance.acceptNotice(await compose(notice, to.address, id, now));
      if (!told) return;
      written.set(sender, before + 1);
      metrics.count('written');
      log.info({ messageId, notice: id, to: sender, recipients: notice.recipients.length }, 'notice written');
    } catch (error) {
      if (error instanceof StoreUnavailable) throw error;
      if (!(error instanceof AppError)) return putAside(notice, error, now);
      if ((error.retryAfterSeconds ?? Number.POSITIVE_INFINITY) <= PASSES_SECONDS) throw error;
      await drop(notice, error.message);
    }
  }

  /** A bug with one message: other notices continue, and it is tried again until it is too old. */
  async function putAside(notice: DueNotice, err: unknown, now: number): Promise<void> {
    const { messageSeq, upToId, messageId } = notice;
    log.error({ err, messageId }, 'a notice to the sender of a message could not be written');
    if (now - notice.oldestAt > TOO_OLD_MS) return drop(notice, 'it could not be written for a day');
    await store.putOffNotices({ messageSeq, upToId, dueFrom: now + HOUR_MS });
  }

  async function drop({ messageSeq, upToId, messageId }: DueNotice, why: string): Promise<void> {
    await store.putOffNotices({ messageSeq, upToId, dueFrom: null });
    metrics.count('dropped');
    log.warn({ messageId, why }, 'a notice to the sender of a message was dropped');
  }

  async function compose(
    notice: DueNotice,
    to: { text: string; domain: string },
    id: MessageId,
    now: number,
  ): Promise<Parameters<NoticeAcceptance['acceptNotice']>[0]> {
    const { messageSeq, upToId, sender } = notice;
    const returned = await returnedOf(notice);
    const words = noticeWords(notice, { hostname: options.hostname, returned: returned?.kind ?? null });
    const from = `MAILER-DAEMON@${to.domain}`;
    const written = writeStatusReport({
      from,
      to: to.text,
      subject: words.subject,
      date: dateText(now),
      arrivalDate: dateText(notice.createdAt),
      messageId: `${id}@${to.domain}`,
      reportingMta: options.hostname,
      envelopeId: notice.envid,
      text: words.text,
      recipients: words.recipients,
      returned,
    });
    return {
      submission: {
        ...SUBMISSION_DEFAULTS,
        from: { name: SENDER_NAME, address: from },
        fromDomain: to.domain,
        envelopeDomain: null,
        notice: null,
        recipients: [{ name: '', address: to.text, domain: to.domain, kind: 'To' }],
        subject: words.subject,
        tags: [NOTICE_TAG],
        metadata: { NoticeFor: notice.messageId },
        // Notices about simulated results stay in the sandbox.
        sandbox: notice.sandbox ? 'deliver' : null,
      },
      prepared: {
        messageId: id,
        dateMs: now,
        composed: { ...written, eightBit: false, dateOffset: null },
      },
      tells: { messageSeq, upToId, sender, now },
    };
  }

  /**
   * RET is about failures; other notices, and messages that are too large or not 7-bit, return the header (RFC 3461
   * §4.3).
   */
  async function returnedOf(notice: DueNotice): Promise<StatusReport['returned']> {
    const bytes = await store.readContent({ messageSeq: notice.messageSeq });
    if (bytes === null) return null;
    const failed = notice.recipients.some(({ kind }) => kind === 'failure');
    if (notice.ret === 'FULL' && failed && bytes.length <= maxWholeBytes && isSevenBitMessage(bytes)) {
      return { kind: 'whole', bytes };
    }
    // Without the empty line; a very long header is cut.
    return { kind: 'header', bytes: bytes.subarray(0, Math.min(notice.bodyOffset - 2, MAX_HEADER_BYTES)) };
  }
}
