/** What a 421 in the middle of a session comes to: read like any other reply where it speaks of us. */
import { describe, expect, it } from 'vitest';
import type { TransactionResult } from '../../../smtp/client-types.ts';
import { Conversation } from '../../../smtp/conversation.ts';
import { createClassifier } from './classifier/classify.ts';
import { endedWithReason, transactionOutcome } from './transaction-outcome.ts';

const classifier = createClassifier();
const peer = { host: 'mx.example.net', address: '192.0.2.1', route: 'mx', opening: '' } as const;

function ended(
  text: string,
  more: Partial<Extract<TransactionResult, { kind: 'lost' }>> = {},
): TransactionResult {
  return {
    kind: 'lost',
    stage: 'mail',
    afterDot: false,
    reused: true,
    pipelined: false,
    untried: false,
    reason: '421',
    detail: 'the server ended the session',
    reply: { code: 421, enhanced: null, text, lines: [text] },
    recipients: [null],
    latencyMs: 5,
    tls: null,
    conversation: new Conversation(0),
    ...more,
  };
}

const outcomeOf = (result: TransactionResult) => transactionOutcome(result, peer, 0, classifier);

describe('a session that ends with a reply that does not belong there', () => {
  it('says so beside the reply, which looks like an ordinary one', () => {
    const lost = { stage: 'data', reason: 'protocol', reused: false } as const;
    const detail = 'unexpected reply 250 to DATA';
    const reply = { code: 250, enhanced: null, text: 'ok', lines: ['ok'] };
    expect(outcomeOf(ended('', { ...lost, detail, reply }))).toMatchObject({
      kind: 'deferred',
      detail: `the connection to ${peer.host} ended at data: unexpected reply 250 to DATA: 250 ok`,
    });
  });
});

describe('a session that ends with 421', () => {
  it.each([
    ['4.7.0 Max message per connection reached, closing transmission channel', 'connection_limited'],
    ['4.7.0 Too many open connections, come back later', 'connection_limited'],
    ['Excessive volume of mail from your IP', 'rate_limited'],
  ])('teaches the path what it says of us: %s', (text, category) => {
    expect(outcomeOf(ended(text))).toMatchObject({ kind: 'path', category, reply: { code: 421 } });
  });

  it.each([
    ['4.7.30 Your email has been rate limited because DKIM authentication did not pass', 'auth_failed'],
    ['4.7.28 Gmail has detected an unusual rate of unsolicited mail from your DKIM domain', 'spam_content'],
    ['4.7.1 Greylisted, please come back in five minutes', 'greylisted'],
    ['4.2.2 The mailbox is over quota', 'mailbox_full'],
  ])('is an answer about the message where it says so: %s', (text, category) => {
    const google = { ...peer, host: 'gmail-smtp-in.l.google.com' };
    const outcome = transactionOutcome(ended(text, { stage: 'dot' }), google, 0, classifier);
    expect(outcome).toMatchObject({ kind: 'deferred', verdict: { category }, reply: { code: 421 } });
    expect(endedWithReason(ended(text), outcome, 0)).toBe(true);
  });

  it('hands the message on where it only closes, and where the message stood behind another', () => {
    expect(outcomeOf(ended('4.3.2 closing'))).toMatchObject({ kind: 'again' });
    const behind = ended('4.7.0 Too many open connections, come back later', { untried: true });
    expect(outcomeOf(behind)).toMatchObject({ kind: 'again' });
  });

  it('leaves the outcome unknown after the final dot, whatever it says', () => {
    const text = '4.7.0 Max message per connection reached, closing transmission channel';
    expect(outcomeOf(ended(text, { afterDot: true }))).toMatchObject({ kind: 'unknown' });
  });
});

describe('a relay that says at MAIL that an account is closed', () => {
  it.each([
    ['5.7.1 Account suspended', 'path'],
    ['5.1.8 Sender account disabled: ann@example.com', 'deferred'],
    ['5.7.1 <ann@example.com>: account is locked', 'deferred'],
  ])('stops other mail only where it names no address: %s', (text, kind) => {
    const reply = { code: 550, enhanced: null, text, lines: [text] };
    const result: TransactionResult = {
      ...{ kind: 'done', recipients: [{ accepted: false, stage: 'mail', reply }], dot: null },
      ...{ latencyMs: 5, tls: null, conversation: new Conversation(0) },
    };
    expect(transactionOutcome(result, { ...peer, route: 'relay' }, 0, classifier).kind).toBe(kind);
  });
});
