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
import { sleep } from '../../lib/clock.ts';
import { uuidv7 } from '../../lib/ids.ts';
import type { Logger } from '../../lib/log.ts';
import type { Random } from '../../lib/random.ts';
import { createTurns, type Turn } from '../../lib/turns.ts';
import { type FeedbackReport, readAttachedComplaint } from '../../mail/arf.ts';
import { answersBySubject, autoReplySign, subjectOf } from '../../mail/auto-reply.ts';
import type { MimePart } from '../../mail/mime-tree.ts';
import type { ReturnPathTokens } from '../../mail/verp.ts';
import { expiryOf } from '../../policy/suppressions/suppressions.ts';
import type { Store } from '../../store/store.ts';
import type { EventDetail, NewEvent } from '../../store/topics/events.ts';
import type { ReturnFact, ReturnResult, ReturnSubject } from '../../store/topics/returns.ts';
import type { SuppressionSignal } from '../../store/topics/suppressions.ts';
import type { Classifier } from '../deliver/outcome/classifier/classify.ts';
import { createAttribution } from './attribution.ts';
import { type BounceReport, bounceFact, cut, type MakeEvent } from './bounce-fact.ts';
import type { ReturnTarget, TokenTarget } from './return-target.ts';
import {
  type Contents,
  type ContentsDeps,
  contentsOf,
  KeysAway,
  type ReturnedMail,
} from './returned-contents.ts';
import type { ReturnMetrics } from './returns-metrics.ts';

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

export interface ReturnedMailDeps extends ContentsDeps {
  store: Store;
  tokens: ReturnPathTokens;
  classifier: Pick<Classifier, 'classify'>;
  random: Random;
  log: Logger;
  metrics: ReturnMetrics;
  /** Called when events were stored: webhook calls may be due. */
  eventsStored(): void;
}

/** A far server may report before our own result is stored; no transaction takes longer than this. */
const UNDER_WAY_MS = 15 * 60_000;
/** Mail to addresses for reports, which anybody can send, rests so long after a turn: it gets a quarter of the time. */
const REPORT_REST_MS = 24;
/** Recipients of one report that are recorded together. */
const PORTION = 64;
const BY_MAIL = 'Opted out by mail';
const COMPLAINTS: ReadonlySet<string> = new Set(['abuse', 'complaint']);
const OPT_OUTS: ReadonlySet<string> = new Set(['opt-out', 'opt-out-list']);

export function createReturnedMailReader(deps: ReturnedMailDeps): ReturnedMailReader {
  const { store, classifier, clock, random, log, metrics, eventsStored } = deps;
  const attribute = createAttribution(deps);
  const reportTurn = createTurns(clock, () => sleep(clock, REPORT_REST_MS));

  return {
    async take(mail) {
      const isReport = mail.targets.some(({ kind }) => kind === 'reports');
      const turn = isReport ? reportTurn : createTurns(clock);
      const contents = contentsOf(deps, mail, turn);
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

const DONE: Disposition = { kind: 'done' };

function laterWithoutKeys(err: unknown): Disposition {
  if (err instanceof KeysAway) return { kind: 'later', about: [] };
  throw err;
}
