/**
 * Reads returned mail and records what it says: the kind of report, the delivery concerned, what follows. Only our own
 * tokens (in the address, or in the copy that a complaint returns) identify the delivery; the text of a report never
 * does. Mail without such a token is stored for the operator.
 *
 *   bounce of a delivery ─ automatic reply ─ complaint ─ unsubscribe ─ for the operator
 *
 * Takes a message and the targets it was sent to; stores events, states and suppressions. Rejects with StoreUnavailable
 * if the store is unavailable; any other error is a bug, and the message stays where it is. Anybody can send such mail,
 * so a message is read and verified once, however many targets it has, and other work runs in between.
 */
import type { Clock } from '../../lib/clock.ts';
import { uuidv7 } from '../../lib/ids.ts';
import type { Logger } from '../../lib/log.ts';
import type { Random } from '../../lib/random.ts';
import { createTurns, type Turn } from '../../lib/turns.ts';
import { namesUpFrom } from '../../mail/address-text.ts';
import { type FeedbackReport, readAttachedComplaint, readFeedbackReport } from '../../mail/arf.ts';
import { parseAuthor } from '../../mail/author-field.ts';
import { answersBySubject, autoReplySign, subjectOf } from '../../mail/auto-reply.ts';
import { readTextBounce, withReasonsOf } from '../../mail/bounce-text.ts';
import { type KeyLookup, verifyDkim } from '../../mail/dkim-verify.ts';
import { type DsnReport, readDsn } from '../../mail/dsn.ts';
import { fieldOf, type MimePart, readMime } from '../../mail/mime-tree.ts';
import type { ReturnPathTokens } from '../../mail/verp.ts';
import { expiryOf } from '../../policy/suppressions/suppressions.ts';
import type { Store } from '../../store/store.ts';
import type { EventDetail, NewEvent } from '../../store/topics/events.ts';
import type { ReturnFact, ReturnResult, ReturnSubject } from '../../store/topics/returns.ts';
import type { SuppressionSignal } from '../../store/topics/suppressions.ts';
import type { Classifier } from '../deliver/outcome/classifier/classify.ts';
import { createAttribution } from './attribution.ts';
import { type BounceReport, bounceFact, byAddress, cut, type MakeEvent } from './bounce-fact.ts';
import { takeDmarcReport } from './dmarc-reports.ts';
import type { ReturnTarget, TokenTarget } from './return-target.ts';
import type { ReturnMetrics } from './returns-metrics.ts';

interface ReturnedMail {
  targets: readonly ReturnTarget[];
  /** null: the null sender. */
  envelopeFrom: string | null;
  /** As received, with CRLF line ends. */
  bytes: Uint8Array;
  receivedAt: number;
}

/** What happens to the message itself. */
export type Disposition =
  /** Everything in it was recorded, or there was nothing. */
  | { kind: 'done' }
  /** Deliveries of these targets are running at this moment, or with none, the DNS tells no key of its signature. */
  | { kind: 'later'; about: readonly ReturnTarget[] }
  /** For a person: `why` in a few words. */
  | { kind: 'keep'; folder: 'operator' | 'reports' | 'unattributed'; why: string };

export interface ReturnedMailReader {
  take(mail: ReturnedMail): Promise<Disposition>;
}

export interface ReturnedMailDeps {
  store: Store;
  tokens: ReturnPathTokens;
  classifier: Pick<Classifier, 'classify'>;
  /** Looks up DKIM keys of senders of reports. */
  keys: KeyLookup;
  clock: Clock;
  random: Random;
  log: Logger;
  metrics: ReturnMetrics;
  /** Called when events were stored: webhook calls may be due. */
  eventsStored(): void;
}

/** What a mail says: each is read when it is first asked for, once, however many targets the mail has. */
interface Contents {
  mime: MimePart;
  feedback(): Promise<FeedbackReport | null>;
  /** A report of RFC 3464. */
  dsn(): Promise<DsnReport | null>;
  /** That, or a bounce written for people. */
  bounce(): Promise<BounceReport | null>;
  /** The provider that signed it, by its first valid signature; null: none. */
  signer(): Promise<string | null>;
  /** Stores what it says as a DMARC report; null, or why it says nothing. */
  dmarcReport(): Promise<string | null>;
}

/** Octets of a message that are read; the rest is attachments and returned contents. */
const MAX_READ_BYTES = 512 * 1024;
/** A far server may report before our own result is stored; no transaction takes longer than this. */
const UNDER_WAY_MS = 15 * 60_000;
/** After this time a signature whose key could not be looked up does not count. */
const KEYS_AWAITED_MS = 15 * 60_000;
/** Recipients of one report that are recorded together. */
const PORTION = 64;
const BY_MAIL = 'Opted out by mail';
/** Domains of signatures of providers that send complaints. */
const FEEDBACK_SIGNERS: ReadonlySet<string> = new Set(['arf.mail.yahoo.com']);
const COMPLAINTS: ReadonlySet<string> = new Set(['abuse', 'complaint']);
const OPT_OUTS: ReadonlySet<string> = new Set(['opt-out', 'opt-out-list']);

export function createReturnedMailReader(deps: ReturnedMailDeps): ReturnedMailReader {
  const { store, classifier, keys, clock, random, log, metrics, eventsStored } = deps;
  const attribute = createAttribution(deps);

  return {
    async take(mail) {
      const turn = createTurns(clock);
      const contents = contentsOf(mail, turn);
      let result: Disposition = { kind: 'done' };
      const about: ReturnTarget[] = [];
      for (const target of mail.targets) {
        await turn();
        const one = await takeFor(target, mail, contents, turn).catch(laterWithoutKeys);
        // A message that must wait is processed again completely: what was recorded is recognised the next time.
        if (one.kind === 'later') {
          about.push(...one.about);
          result = { kind: 'later', about };
        } else if (one.kind === 'keep' && result.kind === 'done') result = one;
      }
      return result;
    },
  };

  function contentsOf({ bytes, receivedAt }: ReturnedMail, turn: Turn): Contents {
    const once = <Result>(read: () => Result | Promise<Result>): (() => Promise<Result>) => {
      const inItsTurn = async () => {
        await turn();
        return read();
      };
      let result: Promise<Result> | null = null;
      return () => (result ??= inItsTurn());
    };
    const mime = readMime(bytes.subarray(0, MAX_READ_BYTES));
    const dsn = once(() => readDsn(mime));
    const textBounce = once(() => readTextBounce(mime));
    return {
      mime,
      feedback: once(() => readFeedbackReport(mime)),
      dsn,
      bounce: once(async () => {
        const fields = await dsn();
        const report = fields === null ? await textBounce() : withReasonsOf(mime, fields);
        return report === null ? null : byAddress(report);
      }),
      signer: once(() => signedBy(FEEDBACK_SIGNERS)),
      dmarcReport: once(() => {
        const reporter = async () => (await signedBy(domainsAbove(mime))) ?? '';
        return takeDmarcReport({ store, clock }, { mime, turn, signedBy: reporter });
      }),
    };

    /** The first of these domains by which there is a valid signature. While that cannot be known, the mail waits. */
    async function signedBy(domains: ReadonlySet<string>): Promise<string | null> {
      const verdicts = await verifyDkim(bytes, { domains, lookUp: keys, nowMs: clock.now(), turn });
      const valid = verdicts.find(({ result }) => result === 'pass');
      const isUnknown = valid === undefined && verdicts.some(({ result }) => result === 'unknown');
      if (isUnknown && clock.now() - receivedAt < KEYS_AWAITED_MS) throw new KeysAway();
      return valid?.domain ?? null;
    }
  }

  async function takeFor(
    target: ReturnTarget,
    mail: ReturnedMail,
    contents: Contents,
    turn: Turn,
  ): Promise<Disposition> {
    switch (target.kind) {
      case 'delivery':
      case 'message':
        return fromReturnPath(target, mail, contents, turn);
      case 'feedback': {
        const { mime } = contents;
        const report =
          (await contents.feedback()) ??
          ((await contents.dsn()) === null ? readAttachedComplaint(mime) : null);
        if (report !== null) return complaint(report, null, contents);
        return unattributed('a message to the complaint address that is no feedback report', mime);
      }
      case 'unsubscribe':
        return optOut(target.deliveryId, mail, contents);
      case 'reports': {
        const why =
          target.name === 'dmarc' ? await contents.dmarcReport() : `an aggregate report for ${target.name}`;
        metrics.took('report');
        return why === null ? DONE : { kind: 'keep', folder: 'reports', why };
      }
      case 'operator': {
        // Some loops send to abuse@ whatever they were told; what has no token of ours is for a person.
        const report = await contents.feedback();
        if (report !== null && (await attribute(report, null, false)) !== null)
          return complaint(report, null, contents);
        metrics.took('operator');
        return { kind: 'keep', folder: 'operator', why: `mail for ${target.name}` };
      }
    }
  }

  /** Mail to the return path of one delivery or of one message's grouped copies. */
  async function fromReturnPath(
    target: Extract<ReturnTarget, { kind: 'delivery' | 'message' }>,
    mail: ReturnedMail,
    contents: Contents,
    turn: Turn,
  ): Promise<Disposition> {
    const subjects = await store.returnSubjects(
      target.kind === 'delivery' ? { deliveryId: target.deliveryId } : { messageSeq: target.messageSeq },
    );
    const [only] = subjects;
    if (only === undefined) return ignored('gone');
    const feedback = await contents.feedback();
    // It is unknown who of those that share a return path answered, also if the others were erased.
    const shared = target.kind === 'message';
    if (feedback !== null) return complaint(feedback, shared ? null : only, contents);
    const report = await contents.bounce();
    if (report !== null) return bounces(subjects, report, target, mail, turn);
    if (shared) return ignored('unknown');
    const sign = autoReplySign(contents.mime);
    const subject = subjectOf(contents.mime);
    if (sign !== null) {
      metrics.took('auto_reply');
      await note(only, 'auto_reply', 'auto_reply', `An automatic reply came back (${sign}): ${subject}`);
    } else {
      metrics.took('unknown');
      await note(only, 'unknown', 'return_noted', `Mail came back that is no report: ${subject}`);
    }
    return DONE;
  }

  async function bounces(
    subjects: readonly ReturnSubject[],
    report: BounceReport,
    target: TokenTarget,
    mail: ReturnedMail,
    turn: Turn,
  ): Promise<Disposition> {
    const shared = target.kind === 'message';
    const mayWait = clock.now() - mail.receivedAt < UNDER_WAY_MS;
    let later = false;
    // Recorded in portions: the store commits those that it gets together at once.
    for (let at = 0; at < subjects.length; at += PORTION) {
      const facts: [ReturnFact, ReturnSubject][] = [];
      for (const subject of subjects.slice(at, at + PORTION)) {
        if (subject.sandbox) continue;
        await turn();
        const now = clock.now();
        // A bounce and what follows from it have one time, or a timeline would show them in the order in which they were made.
        const at: MakeEvent = (kind, detail) => ({ ...event(kind, detail), at: now });
        const fact = bounceFact(subject, report, { mayWait, shared }, { classifier, event: at, now });
        if (fact !== null) facts.push([fact, subject]);
      }
      for (const [{ kind }] of facts) metrics.took(kind === 'bounce' ? 'bounce' : 'note');
      const results = await Promise.all(facts.map(([fact, subject]) => record(fact, subject)));
      later ||= results.includes('under-way');
    }
    return later ? { kind: 'later', about: [target] } : DONE;
  }

  // ── complaints ──────────────────────────────────────────────────────────────────────────────────────────

  /** `sentTo`: the delivery whose return path it came to, if it did. */
  async function complaint(
    report: FeedbackReport,
    sentTo: ReturnSubject | null,
    contents: Contents,
  ): Promise<Disposition> {
    const signer = await contents.signer();
    const subject = await attribute(report, sentTo, signer !== null);
    const who = `${report.userAgent || 'a feedback loop'}, ${signer === null ? 'not verified' : `signed by ${signer}`}`;
    if (subject === null) {
      return unattributed(`a ${report.type} report (${who}) without a token of ours`, null);
    }
    const spam = cut(`Reported as spam (${who})`);
    const optedOut = cut(`Opted out through its provider (${who})`);
    if (typeof subject === 'number') {
      // Of an erased person no link is kept.
      if (COMPLAINTS.has(report.type)) return unsubscribe(subject, spam);
      return OPT_OUTS.has(report.type) ? unsubscribe(subject, optedOut) : ignored('gone');
    }
    if (subject.sandbox) return ignored('sandbox');
    const { deliveryId } = subject;
    if (COMPLAINTS.has(report.type)) {
      metrics.took('complaint');
      const complained = event('complained', { reason: spam });
      const suppress = complaintSignal(spam);
      await record({ kind: 'complaint', deliveryId, event: complained, suppress }, subject);
    } else if (report.type === 'not-spam') {
      metrics.took('not_spam');
      const reason = cut(`Reported as no spam (${who})`);
      await record(
        { kind: 'not-spam', deliveryId, event: event('complaint_withdrawn', { reason }) },
        subject,
      );
    } else if (OPT_OUTS.has(report.type)) {
      return unsubscribe(deliveryId, optedOut);
    } else {
      metrics.took('note');
      log.warn(
        { type: report.type, verified: signer !== null, messageId: subject.messageId },
        'a feedback report that needs a person',
      );
      await note(
        subject,
        `feedback:${report.type}`,
        'return_noted',
        `A feedback report of type ${report.type} (${who})`,
      );
    }
    return DONE;
  }

  function unattributed(what: string, read: MimePart | null): Disposition {
    metrics.took('unattributed');
    log.warn(
      { what, ...(read === null ? {} : { parts: read.parts.length }) },
      'a complaint could not be attributed',
    );
    return { kind: 'keep', folder: 'unattributed', why: what };
  }

  // ── opting out ──────────────────────────────────────────────────────────────────────────────────────────

  async function optOut(deliveryId: number, mail: ReturnedMail, contents: Contents): Promise<Disposition> {
    const [subject] = await store.returnSubjects({ deliveryId });
    if (subject?.sandbox) return ignored('gone');
    // A program's notice about our own mail is not a person's wish. Its header does not tell them apart: Apple Mail marks
    // the wishes of its users as automatic replies.
    if (mail.envelopeFrom === null || (await contents.dsn()) !== null || answersBySubject(contents.mime))
      return ignored('automatic');
    return unsubscribe(deliveryId, BY_MAIL);
  }

  /** As a link does it, also after the message was deleted. */
  async function unsubscribe(deliveryId: number, reason: string): Promise<Disposition> {
    const wish = { deliveryId, event: event('unsubscribed', { reason }), rule: 'opt-out' };
    const { kind } = await store.unsubscribe({ ...wish, now: clock.now() });
    if (kind === 'unknown') return ignored('gone');
    metrics.took('unsubscribe');
    metrics.recorded(kind === 'unsubscribed' ? 'recorded' : 'repeated');
    if (kind === 'unsubscribed') eventsStored();
    return DONE;
  }

  // ── recording ───────────────────────────────────────────────────────────────────────────────────────────

  function note(
    subject: ReturnSubject,
    of: string,
    kind: NewEvent['kind'],
    reason: string,
  ): Promise<ReturnResult> {
    const fact: ReturnFact = {
      kind: 'note',
      deliveryId: subject.deliveryId,
      class: of,
      event: event(kind, { reason: cut(reason) }),
    };
    return record(fact, subject);
  }

  async function record(fact: ReturnFact, subject: ReturnSubject): Promise<ReturnResult> {
    const result = await store.recordReturn({ fact, now: clock.now() });
    metrics.recorded(result);
    if (result === 'recorded' || result === 'noted') {
      eventsStored();
      const of = fact.kind === 'bounce' || fact.kind === 'note' ? fact.class : '';
      log.debug(
        { messageId: subject.messageId, deliveryId: subject.deliveryId, kind: fact.kind, class: of, result },
        'returned',
      );
    }
    return result;
  }

  function complaintSignal(reply: string): SuppressionSignal {
    return {
      ...{ reason: 'Complaint', expiresAt: expiryOf('Complaint', clock.now()), reply, rule: 'feedback' },
      needs: null,
      event: event('suppression_added', { reason: cut(`Complaint: ${reply}`) }),
    };
  }

  function event(kind: NewEvent['kind'], detail: EventDetail): NewEvent {
    return { id: uuidv7(clock, random), kind, at: clock.now(), detail };
  }

  function ignored(why: 'gone' | 'sandbox' | 'automatic' | 'unknown'): Disposition {
    metrics.took('ignored');
    log.debug({ why }, 'returned mail was ignored');
    return DONE;
  }
}

/** The domain of the author and those above it: a signature of one of them is aligned, as DMARC asks by default. */
function domainsAbove(mime: MimePart): ReadonlySet<string> {
  const found = parseAuthor(fieldOf(mime, 'from') ?? '');
  return new Set(found.ok ? namesUpFrom(found.author.address.domain) : []);
}

const DONE: Disposition = { kind: 'done' };

/** No answer of the DNS about the keys of signatures. */
class KeysAway extends Error {}

function laterWithoutKeys(err: unknown): Disposition {
  if (err instanceof KeysAway) return { kind: 'later', about: [] };
  throw err;
}
