import { describe, expect, it } from 'vitest';
import { corpusHash } from '../../../../../test/corpus/learn.ts';
import { createClassifier } from './classify.ts';
import { LEARNED_FROM, learnedOf } from './learned.ts';
import { readReply } from './normalise.ts';
import type { Stage } from './verdict.ts';

const classifier = createClassifier();

function classify(reply: string, stage: Stage = 'rcpt') {
  const read = readReply(reply);
  if (read === null) throw new TypeError(reply);
  return classifier.classify({ stage, ...read, mx: 'mx.example.net', origin: 'remote' });
}

describe('what was learned from labelled replies', () => {
  it('is learned anew when they or the rules changed: npm run learn', () => {
    expect(LEARNED_FROM).toBe(corpusHash());
  });

  it('gives every category a likelihood, and all of them together one', () => {
    const likely = [...learnedOf('550 5.1.1 no such user', 'rcpt', null).values()];
    expect(likely.reduce((sum, one) => sum + Math.exp(one), 0)).toBeCloseTo(1, 6);
    expect(Math.max(...learnedOf('', 'rcpt', null).values())).toBeLessThan(0);
  });

  it.each([
    [
      '550 5.7.1 the domain example.org is not welcome on our servers',
      'mail',
      'sender_rejected',
      'sender_domain',
    ],
    ['554 5.4.14 forwarding circle between two accounts', 'dot', 'routing_loop', 'domain'],
    ['451 Incident technique provisoire de notre plateforme', 'dot', 'service_unavailable', 'path'],
    ['550 5.7.1 Esta casilla ha caducado', 'rcpt', 'mailbox_inactive', 'recipient'],
  ] as const)('tells wordings that no rule knows: %s', (reply, stage, category, scope) => {
    expect(classify(reply, stage)).toMatchObject({ category, scope, ruleId: 'learned' });
  });

  it('lets codes that mean one thing alone say it, whatever words follow', () => {
    expect(classify('503 Esta casilla ha caducado').category).toBe('protocol_error');
  });

  it('is not held against the server where the code is about a mailbox, and stops no path by a guess', () => {
    for (const reply of ['450 4.2.0 not now', '450 4.2.1 try later', '450 4.2.0 later'])
      expect(classify(reply), reply).toMatchObject({
        action: 'retry',
        scope: expect.not.stringMatching('path'),
      });
    const guesses = ['450 slowly', '450 quota of the hour', '451 reputation', '450 no more today'];
    for (const reply of guesses) {
      const { action, confidence } = classify(reply);
      expect(action === 'path' && confidence === 'low', reply).toBe(false);
    }
    // Before the message the server speaks of itself.
    expect(classify('450 4.2.0 not now', 'banner').action).toBe('path');
  });

  it('suppresses whom plain words name, and nobody by what may be about somebody else', () => {
    expect(classify('550 5.7.1 Esta casilla ha caducado').suppress).toBe('inactive');
    for (const text of [
      'Your mailbox is caducada',
      'El buz\u00f3n del remitente ha caducado',
      'Host casilla caducada',
    ])
      expect(classify(`550 ${text}`).suppress, text).toBe('no');
    expect(classify('501 5.1.3 angle brackets around the address, please').suppress).toBe('no');
    expect(classify('550 Die Empf\u00e4ngerdomain ist unbekannt').suppress).toBe('no');
  });
});
