/**
 * Turns a report about an accepted delivery into the fact that is stored; its text goes through the same classifier as
 * a reply during delivery. The address that the report came to identifies the delivery. If a report names another
 * recipient, it is about a forwarding, and rarely about the address that we sent to.
 */
import { aLabels } from '../../mail/address.ts';
import { domainOfAddress, isAtOrBelow } from '../../mail/address-text.ts';
import type { DsnRecipient, DsnReport, ReportField } from '../../mail/dsn.ts';
import type { Bounce } from '../../model/bounce.ts';
import { suppressionKey } from '../../model/suppression.ts';
import { signalOf } from '../../policy/suppressions/suppressions.ts';
import type { EventDetail, NewEvent } from '../../store/topics/events.ts';
import type { ReturnFact, ReturnSubject } from '../../store/topics/returns.ts';
import { pascalCase } from '../deliver/outcome/classifier/categories.ts';
import type { Classifier } from '../deliver/outcome/classifier/classify.ts';
import { isProbablyInvalid, type Verdict } from '../deliver/outcome/classifier/verdict.ts';

export type MakeEvent = (kind: NewEvent['kind'], detail: EventDetail) => NewEvent;

interface Deps {
  classifier: Pick<Classifier, 'classify'>;
  event: MakeEvent;
  now: number;
}

/** A report, and its blocks by the addresses that they name. */
export interface BounceReport {
  report: DsnReport;
  /** By `keyOf`; in the order of the report. */
  named: ReadonlyMap<string, Named>;
}

interface Named {
  /** Blocks about this address. */
  direct: DsnRecipient[];
  /** Blocks about mail that was sent to this address first. */
  traced: DsnRecipient[];
}

interface Choice {
  one: DsnRecipient;
  /** Another address than ours was refused. */
  forwarded: boolean;
  /** The refused address is clearly not another spelling of ours. */
  elsewhere: boolean;
}

const NOT_NAMED: Named = { direct: [], traced: [] };
const MAX_TEXT = 512;
const REPLY = /^([2-5]\d\d)(?:[ -]([245]\.\d{1,3}\.\d{1,3})(?!\.?\d))?/;
const FORWARDING_FIELDS: ReadonlySet<string> = new Set([
  'resent-from',
  'resent-to',
  'resent-date',
  'x-forwarded-for',
  'x-forwarded-to',
  'x-ms-exchange-inbox-rules-loop',
]);

/** Reads each block once, so that many recipients can be looked up. */
export function byAddress(report: DsnReport): BounceReport {
  const named = new Map<string, Named>();
  const add = (address: string | null, as: keyof Named, one: DsnRecipient) => {
    if (address === null) return;
    const key = keyOf(address);
    const known = named.get(key);
    if (known !== undefined) known[as].push(one);
    else named.set(key, { direct: [], traced: [], [as]: [one] });
  };
  for (const one of report.recipients) {
    add(one.finalRecipient ?? one.originalRecipient, 'direct', one);
    add(one.originalRecipient, 'traced', one);
  }
  return { report, named };
}

/** An address for comparing. A report in UTF-8 may give the domain in its own letters (RFC 6533 §3). */
function keyOf(address: string): string {
  const at = address.lastIndexOf('@') + 1;
  return suppressionKey(address.slice(0, at)) + aLabels(address.slice(at));
}

/**
 * What `report` says about `subject`; null if nothing. `mayWait`: the report is recent, so a running delivery may be
 * waited for. `shared`: it came to the return path of grouped copies, which every recipient of them knows. Only blocks that
 * name the subject count then, and nothing is suppressed (docs/decisions/0114-shared-return-paths-suppress-nobody.md).
 */
export function bounceFact(
  subject: ReturnSubject,
  { report, named }: BounceReport,
  options: { mayWait: boolean; shared: boolean },
  deps: Deps,
): ReturnFact | null {
  const choice = chooseBlock(
    subject,
    named.get(keyOf(subject.address)) ?? NOT_NAMED,
    options.shared ? [] : report.recipients,
  );
  if (choice === null) return null;
  const { one } = choice;
  const { deliveryId } = subject;
  if (one.action !== 'failed') {
    const reason = cut(`${REPORTED[one.action]}${saidBy(one, report)}${wordsOf(one)}`);
    return { kind: 'note', deliveryId, class: one.action, event: deps.event('return_noted', { reason }) };
  }
  const { verdict, code, enhanced } = judge(one, report, deps.classifier);
  const words = cut(wordsOf(one).replace(/^: /, '') || 'no reason was given');
  const forwarding = choice.forwarded
    ? `It had been forwarded to ${one.finalRecipient ?? 'another address'}. `
    : '';
  const suppress = suppression(subject, choice, verdict, enhanced, words, report.returned, deps);
  const doubt =
    options.shared && suppress !== null
      ? 'Other recipients know this return path, so the address is not suppressed. '
      : '';
  const reason = cut(`${doubt}${forwarding}Bounced after delivery${saidBy(one, report)}: ${words}`);
  const bounce: Bounce = {
    Type: verdict.soft || verdict.action !== 'bounce' ? 'Transient' : 'Permanent',
    Class: pascalCase(verdict.category),
    // What failed behind a forwarding says nothing against the address, domain and servers that it was sent to.
    Scope: choice.elsewhere && verdict.scope !== 'sender_domain' ? 'message' : verdict.scope,
    Phase: 'Async',
    SmtpCode: one.isSmtp ? code : 0,
    EnhancedCode: enhanced ?? '',
    Diagnostic: words,
    RemoteMta: one.remoteMta || report.reportingMta,
  };
  const detail: EventDetail = { bounce, reason, remoteMta: bounce.RemoteMta, reply: words };
  return {
    kind: 'bounce',
    deliveryId,
    class: verdict.category,
    event: deps.event('bounced', detail),
    note: deps.event('return_noted', { ...detail, reason: cut(`It has no effect now. ${reason}`) }),
    lastReply: words,
    lastCode: one.isSmtp ? code : 0,
    suppress: options.shared ? null : suppress,
    shared: options.shared,
    mayWait: options.mayWait,
  };
}

const REPORTED: Readonly<Record<Exclude<DsnRecipient['action'], 'failed'>, string>> = {
  delayed: 'Delayed on its way',
  delivered: 'Delivered',
  relayed: 'Handed on to a server that sends no reports',
  expanded: 'Handed on to several recipients',
};

/**
 * The block that counts: the worst of those that name our address; if none does, those of its forwarding, or of
 * `unnamed`, which then also concern us.
 */
function chooseBlock(
  subject: ReturnSubject,
  { direct, traced }: Named,
  unnamed: readonly DsnRecipient[],
): Choice | null {
  const worst = worstOf(direct);
  if (worst !== null) return { one: worst, forwarded: false, elsewhere: false };
  const others = traced.length > 0 ? traced : unnamed;
  const one = worstOf(others);
  if (one === null) return null;
  // One of several recipients behind a list or forwarding failed: the address itself works.
  const reached = others.find(
    ({ action }) => action === 'delivered' || action === 'relayed' || action === 'expanded',
  );
  if (one.action === 'failed' && reached !== undefined)
    return { one: reached, forwarded: true, elsewhere: true };
  return {
    one,
    forwarded: true,
    elsewhere: !isSameMailbox(one.finalRecipient, subject.address),
  };
}

function worstOf(blocks: readonly DsnRecipient[]): DsnRecipient | null {
  return (
    blocks.find(({ action }) => action === 'failed') ??
    blocks.find(({ action }) => action === 'delayed') ??
    blocks[0] ??
    null
  );
}

/**
 * The same name, without a subaddress, where one domain equals or contains the other: a mail host that uses its own
 * name. Another name of the same domain is another mailbox, such as a member of a group.
 */
function isSameMailbox(a: string | null, b: string): boolean {
  const [one, other] = [a ?? '', b].map(keyOf) as [string, string];
  const [x, y] = [domainOfAddress(one), domainOfAddress(other)];
  const isSameHouse = x !== '' && (isAtOrBelow(x, y) || isAtOrBelow(y, x));
  return isSameHouse && mailboxName(one) === mailboxName(other);
}

function mailboxName(address: string): string {
  return address.slice(0, address.lastIndexOf('@')).split('+', 1)[0] ?? '';
}

/**
 * The SMTP reply if the report quotes one, otherwise its status in the form of a reply. A report that quotes a success
 * contradicts itself: its status is told, and holds nothing against the address.
 */
function judge(
  one: DsnRecipient,
  report: DsnReport,
  classifier: Pick<Classifier, 'classify'>,
): { verdict: Verdict; code: number; enhanced: string | null } {
  const said = one.isSmtp ? REPLY.exec(one.diagnostic.trim()) : null;
  const quoted = Number(said?.[1] ?? 0);
  const isSuccess = quoted > 0 && quoted < 400;
  const code = quoted >= 400 ? quoted : one.status?.startsWith('4') ? 450 : 550;
  const enhanced = (isSuccess ? null : said?.[2]) ?? one.status;
  const mx = one.remoteMta || report.reportingMta;
  const verdict = classifier.classify({
    stage: 'rcpt',
    code,
    enhanced,
    text: isSuccess ? '' : one.diagnostic.replace(/^[2-5]\d\d[ -]/, ''),
    ...(mx === '' ? {} : { mx: mx.split(/[\s([]/, 1)[0] ?? mx }),
    origin: 'remote',
  });
  return { verdict: isSuccess ? { ...verdict, suppress: 'no', confidence: 'low' } : verdict, code, enhanced };
}

function suppression(
  subject: ReturnSubject,
  choice: Choice,
  verdict: Verdict,
  enhanced: string | null,
  reply: string,
  returned: readonly ReportField[],
  deps: Deps,
): Extract<ReturnFact, { kind: 'bounce' }>['suppress'] {
  if (choice.forwarded) {
    const hinted = choice.elsewhere || returned.some(({ name }) => FORWARDING_FIELDS.has(name));
    if (hinted || verdict.category !== 'recipient_invalid') return null;
  }
  const signal = signalOf(
    {
      suppress: verdict.suppress,
      probablyInvalid: isProbablyInvalid(verdict) && !choice.forwarded,
      enhanced,
      relayed: subject.route === 'relay',
      sandbox: subject.sandbox,
      reply,
      rule: verdict.ruleId,
    },
    deps.now,
  );
  if (signal === null) return null;
  return { ...signal, event: deps.event('suppression_added', { reason: cut(`${signal.reason}: ${reply}`) }) };
}

function saidBy(one: DsnRecipient, report: DsnReport): string {
  const host = one.remoteMta || report.reportingMta;
  return host === '' ? '' : ` (${host})`;
}

function wordsOf(one: DsnRecipient): string {
  const status = one.isSmtp || one.status === null ? '' : one.status;
  const words = `${status} ${one.diagnostic}`.trim();
  return words === '' ? '' : `: ${words}`;
}

/** A text as events and suppressions keep it. */
export function cut(text: string): string {
  return text.slice(0, MAX_TEXT).toWellFormed();
}
