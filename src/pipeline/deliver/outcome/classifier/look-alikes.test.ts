import { describe, expect, it } from 'vitest';
import { createClassifier } from './classify.ts';
import { readReply } from './normalise.ts';
import { quotesReply } from './quoted-reply.ts';
import { isProbablyInvalid, type Stage } from './verdict.ts';

const classifier = createClassifier();

function classify(reply: string, stage: Stage = 'rcpt', mx = 'mx.example.net') {
  const read = readReply(reply);
  if (read === null) throw new TypeError(reply);
  return classifier.classify({ stage, ...read, mx, origin: 'remote' });
}

describe('replies in words of other kinds', () => {
  it.each([
    // Limits of an account, a relay or a day are about us.
    ['452 4.3.1 This message would take you over your relay quota', 'rcpt', 'rate_limited', 'path'],
    ['471 4.7.1 <a@example.net>: The limits for your account are exceeded', 'rcpt', 'rate_limited', 'path'],
    [
      '550 5.1.90 Your message can’t be sent: the daily limit for message recipients is reached',
      'dot',
      'rate_limited',
      'path',
    ],
    ['550 Your monthly sending allowance is used up', 'rcpt', 'rate_limited', 'path'],
    // Those of a mailbox are not.
    ['452 4.2.2 The quota of this mailbox is exceeded', 'rcpt', 'mailbox_full', 'recipient'],
    [
      '450 4.2.1 Recipient has exceeded the hourly message limit',
      'rcpt',
      'recipient_rate_limited',
      'recipient',
    ],
    // A list that is named.
    ['554 5.7.1 refused: it is listed at open.relay.example.org', 'rcpt', 'ip_blocklisted', 'path'],
    // A sender that is new.
    [
      '451 This host is not yet authorized to deliver mail from <a@example.org>, please try later',
      'rcpt',
      'greylisted',
      'recipient',
    ],
    // Commands and loops.
    ['555 5.5.4 RCPT TO parameters not recognized', 'rcpt', 'protocol_error', 'message'],
    ['500 Command rejected', 'rcpt', 'protocol_error', 'message'],
    ['552 "Received:" header counts exceeds the limit', 'dot', 'routing_loop', 'domain'],
    // Our address, without a reason.
    ['554 5.7.1 Client host rejected: Access denied', 'rcpt', 'ip_reputation', 'path'],
    ['550 Unauthenticated mail not allowed from this range', 'rcpt', 'ip_reputation', 'path'],
    // The sender of the header.
    [
      '554 5.2.0 STOREDRV.Submission.Exception:SendAsDeniedException',
      'dot',
      'sender_rejected',
      'sender_domain',
    ],
    ['550 Incorrect sender header', 'dot', 'sender_rejected', 'sender_domain'],
    // A relay's own list of recipients.
    ['554 Message rejected: Address blacklisted', 'dot', 'recipient_policy', 'recipient'],
    ['554 IP address blacklisted', 'dot', 'ip_blocklisted', 'path'],
    // No way to the recipient.
    ['550 Recipient not in route list', 'rcpt', 'recipient_invalid', 'recipient'],
    ['550 5.4.4 Cannot route to <a@example.net>', 'rcpt', 'recipient_invalid', 'recipient'],
  ] as const)('are read as what they mean: %s', (reply, stage, category, scope) => {
    expect(classify(reply, stage)).toMatchObject({ category, scope });
  });

  it.each([
    '553 sorry, this recipient is not in my validrcptto list (#5.7.1)',
    '550 sorry, your recipient address is not in my local list',
    '554 5.0.0 Hi [192.0.2.15], unresolvable address: <a@example.net>; nosuchuser; a@example.net',
  ])('suppress where they name a recipient that is unknown: %s', (reply) => {
    expect(classify(reply).suppress).toBe('hard');
  });

  it('suppress by weights alone only if a recipient is named', () => {
    expect(classify('550 Mensaje inv\u00e1lido').suppress).toBe('no');
    expect(classify('550 5.7.1 Esta casilla ha caducado').suppress).toBe('inactive');
  });
});

describe('replies with the code of an unknown address', () => {
  it.each([
    '550 5.1.1 <a@example.net>: undeliverable address: host mx.example.org said: 554 5.7.1 Relay access denied',
    '550 5.1.1 Recipient rejected: SPF fail',
    '550 5.1.1 Die Absenderadresse existiert nicht',
    '550 5.1.1 User unknown, or your server is on a blacklist',
  ])('count nothing against it where they are about something else: %s', (reply) => {
    const verdict = classify(reply);
    expect([verdict.action, verdict.suppress, isProbablyInvalid(verdict)]).toEqual(['bounce', 'no', false]);
  });

  it.each([
    '550 5.1.1 <a@example.net>... email address lookup in domain map failed',
    '550 5.1.1 Recipient lookup says: nobody here (anti-spam.example.net)',
  ])('count against it where they are probably about it: %s', (reply) => {
    expect(isProbablyInvalid(classify(reply))).toBe(true);
  });
});

describe('a reply that quotes another server', () => {
  it.each([
    '550 5.7.1 <a@example.net>: undeliverable: host mx.example.org[192.0.2.7] said: 554 5.7.1 client 192.0.2.9 is blocked by dnsbl.example.org (in reply to RCPT TO command)',
    '554 Remote server answered: 550 your IP 192.0.2.9 is blacklisted',
    '451 4.7.0 host mx.example.org replied: 421 too many messages from 192.0.2.9',
    '550 permanent failure for one or more recipients (a@example.net:550 5.7.1 Client host [192.0.2.9] blocked using Spamhaus)',
    '550 5.7.1 Message rejected by backend: 550 5.7.1 192.0.2.9 is blocked using zen.spamhaus.org',
    '450 4.1.1 <a@example.net>: unverified address: host mx.example.org[192.0.2.7] refused to talk to me: 554 Too many connections',
    '451 4.7.1 <a@example.net>: unverified address: host mx.example.org[192.0.2.7] said: 530 5.7.0 Must issue a STARTTLS command first (in reply to MAIL FROM command)',
    '450 4.1.1 <a@example.net>: unverified address: TLS is required, but was not offered by host mx.example.org[192.0.2.7]',
  ])('stops no path of ours: %s', (reply) => {
    const { scope, action } = classify(reply);
    expect(scope).toBe('message');
    expect(action).toBe(reply.startsWith('5') ? 'bounce' : 'retry');
  });

  it('is told from a server that speaks for itself', () => {
    expect(classify('554 5.7.1 Your IP 192.0.2.9 is blacklisted').action).toBe('defer');
    expect(quotesReply('550 5.7.1 client host [192.0.2.9] blocked')).toBe(false);
    // Before a message it can only be about the connection.
    expect(classify('554 Remote server answered: 550 your IP 192.0.2.9 is blacklisted', 'banner').scope).toBe(
      'path',
    );
  });

  it('still tells what is said of the recipient', () => {
    expect(
      classify(
        '550 5.1.1 <a@example.net>: undeliverable address: host mx.example.org said: 550 no such user',
      ),
    ).toMatchObject({ category: 'recipient_invalid', scope: 'recipient', suppress: 'hard' });
  });
});
