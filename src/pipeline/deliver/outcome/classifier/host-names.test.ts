import { describe, expect, it } from 'vitest';
import { createClassifier } from './classify.ts';
import { withoutHosts } from './host-names.ts';
import { featuresOf } from './learned.ts';
import { readReply } from './normalise.ts';

describe('names of hosts in a reply', () => {
  it('are found beside words, links and addresses', () => {
    expect(withoutHosts('550 5.7.1 [192.0.2.1] listed at relays.ordb.org, see https://ordb.org/x')).toBe(
      '550 5.7.1 [192.0.2.1] listed at a.aa, see https://ordb.org/x',
    );
    expect(withoutHosts('550 <user@relay.example.net> unknown on mx.example.net.')).toBe(
      '550 <user@relay.example.net> unknown on a.aa.',
    );
    const words = '550 quota exceeded.please wait';
    expect(withoutHosts(words)).toBe(words);
  });

  it('are no words of the reply, except names of lists', () => {
    const read = (reply: string) => [...featuresOf(reply, 'rcpt', null)];
    expect(read('550 refused by relay.example.net')).not.toContain('relay');
    expect(read('550 refused by relay.example.net')).toContain('exampl');
    expect(read('550 refused by dnsbl.example.net')).toContain('dnsbl');
  });

  it.each([
    ['550 5.7.1 Mail from 192.0.2.1 refused, listed at relays.ordb.org', 'ip_blocklisted', 'path'],
    [
      '550 5.1.1 <a@example.net>: no such user on loop.detected.example.net',
      'recipient_invalid',
      'recipient',
    ],
  ])('do not decide: %s', (reply, category, scope) => {
    const read = readReply(reply);
    if (read === null) throw new TypeError(reply);
    const question = { stage: 'rcpt', ...read, mx: 'mx.example.net', origin: 'remote' } as const;
    expect(createClassifier().classify(question)).toMatchObject({ category, scope });
  });

  it('are read by a rule of the operator', () => {
    const own = createClassifier();
    const rule = {
      id: 'T1',
      re: 'badhost',
      lit: ['badhost'],
      category: 'relay_denied',
      confidence: 'high',
      example: '550 refused by badhost',
      nearMiss: '550 refused by goodhost',
    };
    expect(own.useOperatorRules([rule])).toEqual({ kind: 'used', count: 1 });
    const question = {
      stage: 'rcpt',
      code: 550,
      enhanced: null,
      text: 'badhost.example.net',
      origin: 'remote',
    } as const;
    expect(own.classify(question).ruleId).toBe('T1');
  });
});
