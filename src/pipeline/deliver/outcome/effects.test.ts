import { describe, expect, it } from 'vitest';
import { createClassifier } from './classifier/classify.ts';
import { categoryOf, type Effects, effectsOf, relayRefusal } from './effects.ts';
import { NO_FACTS } from './outcome.ts';
import { replyOutcome } from './transaction-outcome.ts';

const classifier = createClassifier();

type MessageStage = 'mail' | 'rcpt' | 'dot';

function outcomeOf(code: number, enhanced: string, text: string, stage: MessageStage = 'dot') {
  const reply = { code, enhanced, text };
  const verdict = classifier.classify({ stage, ...reply, mx: 'relay.example', origin: 'remote' });
  return replyOutcome(verdict, { stage, reply, detail: text, facts: NO_FACTS });
}

/** What a relay's answer to one message is taken for. */
function taken(code: number, enhanced: string, text: string, stage?: MessageStage) {
  return relayRefusal(outcomeOf(code, enhanced, text, stage))?.believed ?? null;
}

describe('a relay’s refusal', () => {
  it.each([
    [530, '5.7.0', 'Authentication required', 'one'],
    [554, '5.7.1', 'Relay access denied', 'one'],
    // Our session lacks something, whatever the words ask for.
    [530, '5.7.0', 'Must issue a STARTTLS command first', 'one'],
    [451, '4.3.0', 'local error in processing', 'several'],
    // A server behind it said so, of that one message.
    [554, '5.7.1', 'Client host [192.0.2.7] blocked using zen.spamhaus.org', 'several'],
    [550, '5.7.1', 'poor reputation of your IP', 'several'],
    [550, '5.1.1', 'User unknown', null],
    [554, '5.7.1', 'This is spam', null],
  ])('%i %s %s counts for: %s', (code, enhanced, text, believed) => {
    expect(taken(code, enhanced, text)).toBe(believed);
  });

  it('that ends the session is about us where no recipient is named yet', () => {
    expect(taken(421, '4.3.2', 'closing', 'mail')).toBe('one');
    expect(taken(421, '4.3.2', 'closing', 'rcpt')).toBe('several');
    expect(taken(421, '4.3.2', 'closing', 'dot')).toBe('several');
  });

  it('is a reply of the relay: a failure without one is about the connection', () => {
    const verdict = classifier.classify({
      stage: 'dot',
      code: 451,
      enhanced: null,
      text: '',
      origin: 'local',
    });
    const broken = {
      kind: 'deferred',
      verdict,
      stage: 'dot',
      reply: null,
      detail: 'reset',
      facts: NO_FACTS,
    } as const;
    expect(relayRefusal(broken)).toBeNull();
  });
});

describe('what a reply changes for the hosts of a domain', () => {
  it.each<[number, string, string, Effects]>([
    [554, '5.7.1', 'Relay access denied', { dnsAgain: true }],
    [530, '5.7.0', 'Must issue a STARTTLS command first', { wantTls: true }],
    [550, '5.7.1', 'poor reputation of your IP', { ipv4Only: true }],
    [550, '5.1.1', 'User unknown', {}],
  ])('%i %s %s: %j', (code, enhanced, text, { dnsAgain, wantTls, ipv4Only }) => {
    const effects = effectsOf(categoryOf(outcomeOf(code, enhanced, text)));
    expect([effects.dnsAgain, effects.wantTls, effects.ipv4Only]).toEqual([dnsAgain, wantTls, ipv4Only]);
  });
});
