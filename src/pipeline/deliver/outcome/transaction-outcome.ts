/** Turns the SMTP session's result for one recipient's transaction into an outcome. */

import { dayOf } from '../../../lib/instant.ts';
import type { TlsFacts } from '../../../smtp/client-tls.ts';
import type { TransactionResult } from '../../../smtp/client-types.ts';
import type { Reply } from '../../../smtp/reply.ts';
import type { Category } from './classifier/categories.ts';
import type { Classifier } from './classifier/classify.ts';
import { localVerdict, type Verdict } from './classifier/verdict.ts';
import { WANTS_LOGIN } from './effects.ts';
import type { AttemptFacts, Outcome, ReplyFacts, StagedEnding } from './outcome.ts';

export interface Peer {
  host: string;
  address: string;
  /** The address that mail leaves from; absent = the system's choice. */
  localAddress?: string | undefined;
  route: 'mx' | 'relay';
  /** The conversation while the connection opened. */
  opening: string;
  /** Why the connection has no TLS although it was tried; null or absent: it has, or TLS was not offered. */
  inClear?: string | null | undefined;
}

/** After this many returns from behind other messages, it gets a connection of its own. */
const MOST_BEHIND = 2;
/** Refusals that often come from wrong DNS: they count when they are repeated. */
const CONFIRM: ReadonlySet<Category> = new Set(['relay_denied', 'routing_loop']);

/** A relay has closed our account; after MAIL, when recipients are known, only in words that are about us. */
const ACCOUNT_CLOSED =
  /\baccount\b[^.;]{0,40}\b(?:suspended|disabled|deactivated|locked|blocked|closed|terminated|expired|inactive|restricted|on hold)\b/i;
const OUR_SENDING_STOPPED =
  /\byour (?:\w{1,20} )?account (?:is|has been|was) (?:suspended|disabled|deactivated|locked|blocked|closed|terminated|restricted|on hold)\b|\bsending (?:is|has been|was) (?:paused|disabled|suspended)\b/i;

/**
 * Categories about our address, our rate or our connections that a 421 during a session can have; no message is charged
 * for them.
 */
const ABOUT_US: ReadonlySet<Category> = new Set([
  'connection_limited',
  'rate_limited',
  'ip_reputation',
  'ip_blocklisted',
  'ptr_missing',
  'helo',
  'ipv6_refused',
  'tls_required',
]);

/**
 * Outcome for the recipient at `index` of a transaction. `redispatched`: how often it was already passed to another
 * connection.
 */
export function transactionOutcome(
  result: TransactionResult,
  peer: Peer,
  redispatched: number,
  classifier: Pick<Classifier, 'classify'>,
  index = 0,
): Outcome {
  const remoteMta = peer.host === peer.address ? peer.host : `${peer.host} [${peer.address}]`;
  const about = { remoteMta, sourceAddress: peer.localAddress, route: peer.route };
  if (result.kind === 'not-sendable')
    return notSendable(result, peer, { ...about, conversation: peer.opening, tls: '', durationMs: 0 });
  const facts: AttemptFacts = {
    ...about,
    conversation: result.conversation.text(),
    tls: result.tls === null && peer.inClear ? `none (${peer.inClear})` : tlsText(result.tls),
    durationMs: result.latencyMs,
  };
  const recipient = result.recipients[index] ?? null;
  // A final refusal before the connection ended counts as usual.
  if (recipient !== null) {
    const reply = replyFacts(recipient.reply);
    if (recipient.accepted) return { kind: 'delivered', route: peer.route, reply, facts };
    const { stage } = recipient;
    const detail = `${peer.host} said: ${recipient.reply.code} ${recipient.reply.text}`.slice(0, 512);
    // A problem with the operator's account at a relay is not the message's: it waits until that is corrected.
    if (peer.route === 'relay' && reply.code >= 500) {
      const isClosed = stage === 'mail' && ACCOUNT_CLOSED.test(reply.text);
      const category = 'relay_login_failed';
      // With an address it may be the account of this sender alone.
      if (WANTS_LOGIN.has(reply.code) || (isClosed && !reply.text.includes('@')))
        return { kind: 'path', category, verdict: null, stage, reply, detail, facts };
      // Recipients can cause such words, where the relay repeats their server's: they stop no other mail.
      if (isClosed || OUR_SENDING_STOPPED.test(reply.text)) {
        const verdict = localVerdict(category, 'retry', 'path');
        return { kind: 'deferred', verdict, stage, reply, detail, facts };
      }
    }
    const verdict = classifier.classify({ stage, ...reply, mx: peer.host, origin: 'remote' });
    return replyOutcome(verdict, { stage, reply, detail, facts });
  }
  if (result.kind === 'done') throw new TypeError('each recipient of a transaction has its reply');
  const reply = result.reply === null ? null : replyFacts(result.reply);
  // A reply that does not belong there looks like an ordinary one: `250 ok` to DATA.
  const odd = result.reason === 'protocol' ? `${result.detail}: ` : '';
  const said = reply === null ? result.detail : `${odd}${reply.code} ${reply.text}`;
  const detail = `the connection to ${peer.host} ended at ${result.stage}: ${said}`.slice(0, 512);
  if (result.afterDot) return { kind: 'unknown', detail, facts };
  if (result.reason === '421' && reply !== null && !result.untried) {
    const verdict = classifier.classify({ stage: result.stage, ...reply, mx: peer.host, origin: 'remote' });
    if (namesReason(verdict)) return replyOutcome(verdict, { stage: result.stage, reply, detail, facts });
  }
  if (result.untried || result.reason === 'local')
    return { kind: 'again', detail, fresh: redispatched >= MOST_BEHIND };
  // The failure of a connection that carried other messages says nothing about this one; on a new connection it counts.
  if (result.reused && (result.stage === 'mail' || result.reason === '421'))
    return { kind: 'again', detail, fresh: true };
  return { kind: 'deferred', verdict: lostVerdict(result.reason), stage: result.stage, reply, detail, facts };
}

/**
 * Whether a 421 says more than that the session ends (RFC 5321 §4.2.1): something about us, or by a rule that knows its
 * wording about the sender, the recipient or the message.
 */
function namesReason({ category, scope, confidence, ruleId }: Verdict): boolean {
  if (ABOUT_US.has(category)) return true;
  return scope !== 'path' && confidence === 'high' && !/^(?:learned$|code:|stage:)/.test(ruleId);
}

/** Whether the reply that ended the connection says why about this recipient: then the connection was not lost to a fault. */
export function endedWithReason(result: TransactionResult, outcome: Outcome, index: number): boolean {
  if (result.kind !== 'lost' || (result.recipients[index] ?? null) !== null) return false;
  return outcome.kind === 'deferred' && outcome.verdict.ruleId !== 'local';
}

/** Outcome of a final reply with the given verdict. */
export function replyOutcome(verdict: Verdict, ending: StagedEnding): Exclude<Outcome, { kind: 'again' }> {
  const common = { verdict, ...ending };
  switch (verdict.action) {
    case 'path':
    case 'defer':
      return { kind: 'path', category: verdict.category, ...common };
    case 'retry':
      return { kind: 'deferred', ...common };
    case 'bounce':
      return { kind: 'bounced', ...common, ...(CONFIRM.has(verdict.category) ? { confirm: true } : {}) };
  }
}

function lostVerdict(reason: string): Verdict {
  const category: Category =
    reason === 'timeout'
      ? 'timeout'
      : reason === '421'
        ? 'service_unavailable'
        : reason === 'protocol'
          ? 'protocol_error'
          : 'conn_lost';
  return localVerdict(category, 'retry', 'path');
}

function notSendable(
  result: Extract<TransactionResult, { kind: 'not-sendable' }>,
  peer: Peer,
  facts: AttemptFacts,
): Outcome {
  const say = (category: Category, enhanced: string, detail: string): Outcome => ({
    kind: 'bounced',
    verdict: localVerdict(category, 'bounce', 'message'),
    stage: 'mail',
    reply: { code: 0, enhanced, text: detail },
    detail,
    facts,
  });
  switch (result.why) {
    case 'too-large':
      return say('message_too_large', '5.3.4', `${peer.host} takes at most ${result.limit ?? 0} octets`);
    case 'smtputf8-unsupported':
      return say(
        'smtputf8_unsupported',
        '5.6.7',
        `${peer.host} does not take internationalised addresses (SMTPUTF8)`,
      );
    case 'eight-bit-unsupported':
      return say('protocol_error', '5.6.3', `${peer.host} does not take 8-bit content`);
    case 'unsafe-command':
      return say('recipient_invalid', '5.1.3', 'the address cannot be written in an SMTP command');
  }
}

function replyFacts(reply: Reply): ReplyFacts {
  return { code: reply.code, enhanced: reply.enhanced, text: reply.text };
}

/**
 * `TLSv1.3 TLS_AES_256_GCM_SHA384, certificate verified by DANE, CN=mx.example.net, until 2027-03-01`; an unverified
 * certificate comes with the reason; '' without TLS.
 */
export function tlsText(tls: TlsFacts | null): string {
  if (tls === null) return '';
  const trust = tls.authorized
    ? `certificate verified${VERIFIED_BY[tls.verifiedBy]}`
    : `certificate not verified (${tls.authorizationError ?? 'unknown'})`;
  const subject = tls.subject === null ? '' : `, CN=${tls.subject}`;
  const until = tls.validUntil === null ? '' : `, until ${dayOf(tls.validUntil)}`;
  return `${tls.protocol} ${tls.cipher}, ${trust}${subject}${until}`;
}

const VERIFIED_BY = { none: '', pkix: '', 'mta-sts': ' as MTA-STS asks', dane: ' by DANE' } as const;
