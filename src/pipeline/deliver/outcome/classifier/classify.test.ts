import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cpuMsOf } from '../../../../../test/fakes/thread-cpu.ts';
import { CATEGORIES, categoryFacts, categoryOfClass, pascalCase, SUPPRESSING } from './categories.ts';
import { createClassifier, shippedRules } from './classify.ts';
import { MAX_SUBJECT_CHARS, readReply, retryHintMs, subjectOf } from './normalise.ts';
import { createProviders } from './provider.ts';
import type { RuleData } from './rule-set.ts';
import { explanationOf, STAGES, type Stage, sentenceOf, type Verdict } from './verdict.ts';

const classifier = createClassifier();

function said(
  pasted: string,
  options: { stage?: Stage; mx?: string; origin?: 'remote' | 'local' } = {},
): Verdict {
  const reply = readReply(pasted);
  if (reply === null) throw new TypeError(pasted);
  return classifier.classify({
    stage: options.stage ?? 'rcpt',
    ...reply,
    mx: options.mx ?? 'mx.example.net',
    origin: options.origin ?? 'remote',
  });
}

describe('what a reply is taken for', () => {
  it('takes an unknown user for an invalid recipient, and suppresses', () => {
    expect(said('550 5.1.1 <a@example.net>: User unknown')).toMatchObject({
      category: 'recipient_invalid',
      scope: 'recipient',
      action: 'bounce',
      suppress: 'hard',
      confidence: 'high',
    });
  });

  it('takes "mailbox unavailable" beside a blocklisted address for a matter of the address', () => {
    const verdict = said('550 5.7.1 Mailbox unavailable. Your IP address 192.0.2.1 is blacklisted');
    expect(verdict).toMatchObject({
      category: 'ip_blocklisted',
      scope: 'path',
      action: 'defer',
      suppress: 'no',
    });
  });

  it('keeps mail whose permanent refusal is about our address, for four hours at the most', () => {
    const verdict = said(
      '554 5.7.1 Service unavailable; Client host [192.0.2.1] blocked using bl.some-list.example',
      { stage: 'dot' },
    );
    expect(verdict).toMatchObject({
      action: 'defer',
      giveUp: { tries: 0, afterMs: 14_400_000 },
      waitMs: 7_200_000,
    });
  });

  it('reads the code that qmail writes at the end', () => {
    expect(said('502 sorry (#5.5.1)', { stage: 'dot' })).toMatchObject({ category: 'protocol_error' });
    expect(said('553 sorry, nobody (#5.1.1)').ruleId).toBe('code:x.1.1');
  });

  it('suppresses nobody for a bare code about the addressee once the message was sent', () => {
    expect(said('550 5.1.1 Refused', { stage: 'dot' })).toMatchObject({ suppress: 'no' });
    expect(said('550 5.2.1 Refused', { stage: 'dot' })).toMatchObject({ suppress: 'no' });
    expect(said('550 5.1.1 Refused', { stage: 'rcpt' })).toMatchObject({ suppress: 'hard' });
  });

  it('does not take a 450 with 4.1.1 for the end of an address', () => {
    expect(said('450 4.1.1 <a@example.net>: unverified address')).toMatchObject({
      action: 'retry',
      suppress: 'no',
      giveUp: { tries: 3 },
    });
  });

  it('lets the class of the code beat that of the enhanced code', () => {
    expect(said('550 4.1.1 No such user').action).toBe('bounce');
    expect(said('450 5.1.1 No such user').action).toBe('retry');
    expect(said('450 5.1.1 No such user').suppress).toBe('no');
  });

  it('counts a full mailbox without suppressing at once', () => {
    expect(said('552 5.2.2 Mailbox full')).toMatchObject({
      category: 'mailbox_full',
      soft: true,
      suppress: 'soft',
    });
  });

  it('never bounces on what is said before a message', () => {
    for (const stage of ['connect', 'banner', 'ehlo', 'starttls', 'tls', 'auth'] as const)
      for (const reply of [
        '554 No SMTP service here',
        '550 5.1.1 User unknown',
        '500 what?',
        '554 5.7.1 blocked using zen.spamhaus.org',
      ])
        expect(said(reply, { stage }), `${stage} ${reply}`).toMatchObject({
          scope: 'path',
          action: 'path',
          suppress: 'no',
        });
  });

  it('takes 421 for the path’s matter', () => {
    expect(said('421 4.3.2 Service shutting down')).toMatchObject({
      category: 'service_unavailable',
      action: 'path',
    });
    expect(said('451 4.3.0 Temporary lookup failure')).toMatchObject({
      category: 'service_unavailable',
      action: 'retry',
    });
  });

  it('takes 421 for the server’s matter whatever its enhanced code is about', () => {
    expect(said('421 4.2.2 Xyzzy')).toMatchObject({ category: 'service_unavailable', ruleId: 'code:421' });
  });

  it('waits as long as a rule of the provider says', () => {
    const listed = '421 4.7.1 [TS03] All messages from 192.0.2.1 will be permanently deferred';
    expect(said(listed, { mx: 'mta5.am0.yahoodns.net' })).toMatchObject({
      category: 'ip_blocklisted',
      waitMs: 14_400_000,
    });
  });

  it('believes a rate limit also where it comes as 550', () => {
    expect(said('550 Ip frequency limited', { mx: 'mx3.qq.com' })).toMatchObject({
      category: 'rate_limited',
      action: 'path',
    });
  });

  it('waits for greylisting as long as the reply asks for', () => {
    expect(said('450 4.2.0 Greylisted, try again in 300 seconds')).toMatchObject({
      category: 'greylisted',
      action: 'retry',
      hintMs: 300_000,
    });
  });

  it('uses a provider’s rules for its own hosts only', () => {
    const text = '550 5.4.1 Recipient address rejected: Access denied. AS(201806281)';
    expect(said(text, { mx: 'example-net.mail.protection.outlook.com' })).toMatchObject({
      ruleId: 'M07',
      suppress: 'no',
    });
    expect(said(text, { mx: 'mx.example.net' }).ruleId).not.toBe('M07');
  });

  it('takes words that a customer of the provider wrote for that customer’s, whatever they say', () => {
    const google = 'aspmx.l.google.com';
    const microsoft = 'example-com.mail.protection.outlook.com';
    const gateway = 'd1.ess.barracudanetworks.com';
    for (const words of [
      'Your IP address is listed at zen.spamhaus.org.',
      'Gmail has detected an unusual rate of unsolicited mail originating from your IP address',
      'DMARC policy reject',
      'Unauthenticated email is not accepted',
      'No such user',
      'Your IP address is listed at zen.spamhaus.org. '.repeat(60),
    ])
      for (const [mx, text] of [
        [google, `550 5.7.1 ${words} - gcdp a1b2 - gsmtp`],
        [microsoft, `550 5.7.1 TRANSPORT.RULES.RejectMessage; ${words}`],
        // Behind a gateway.
        [gateway, `550 failure (a@example.net:550 5.7.1 ${words} - gcdp a1b2 - gsmtp)`],
        [gateway, `550 failure (a@example.net:550 5.7.1 TRANSPORT.RULES.RejectMessage; ${words})`],
      ] as const) {
        const verdict = said(text, { stage: 'dot', mx });
        expect([verdict.category, verdict.scope, verdict.action, verdict.suppress], text).toEqual([
          ...['recipient_policy', 'recipient', 'bounce', 'no'],
        ]);
      }
    expect(said('550 5.7.1 DMARC policy reject - gcdp', { stage: 'dot' }).category).toBe('auth_failed');
  });

  it('never meets a text rule with a text of our own', () => {
    expect(said('550 5.7.1 User unknown, your IP is blacklisted', { origin: 'local' })).toMatchObject({
      category: 'policy_other',
      ruleId: 'code:x.7.1',
    });
    expect(said('450 greylisted', { origin: 'local' }).category).toBe('unknown_soft');
  });

  it('tries a bad sequence and what is no final reply again on a fresh connection', () => {
    expect(said('503 5.5.1 Bad sequence of commands', { stage: 'mail' })).toMatchObject({
      category: 'protocol_error',
      action: 'retry',
      giveUp: { tries: 3 },
    });
    expect(
      classifier.classify({ stage: 'dot', code: 354, enhanced: null, text: 'go on', origin: 'remote' }),
    ).toMatchObject({ category: 'protocol_error', action: 'retry' });
  });

  it('takes addressing codes at MAIL for the sender’s', () => {
    expect(said('550 5.1.0 refused', { stage: 'mail' })).toMatchObject({
      category: 'sender_rejected',
      suppress: 'no',
    });
  });

  it('does not know what it does not know', () => {
    expect(said('550 no')).toMatchObject({ category: 'unknown_hard', suppress: 'no', confidence: 'low' });
    expect(said('450 no')).toMatchObject({ category: 'unknown_soft', action: 'retry' });
  });

  it('calls what it does not know a matter of the message, so that alike refusals are one cause', () => {
    expect(said('550 no').scope).toBe('message');
    expect(said('450 no').scope).toBe('message');
  });
});

describe('any bytes', () => {
  const literals = (shippedRules().rules as RuleData[]).flatMap((rule) => [...rule.lit, rule.example]);
  const anyText = fc.oneof(
    fc.string({ maxLength: 3000 }),
    fc.string({ unit: 'binary', maxLength: 3000 }),
    fc.uint8Array({ maxLength: 3000 }).map((bytes) => Buffer.from(bytes).toString('latin1')),
    fc
      .array(fc.constantFrom(...literals, ' ', '\n', '<a@b>', '192.0.2.1 '), { maxLength: 200 })
      .map((words) => words.join(' ')),
  );

  it('never throw, never suppress beyond the recipient, and always give a whole verdict', () => {
    fc.assert(
      fc.property(
        anyText,
        fc.integer({ min: 0, max: 999 }),
        fc.constantFrom(...STAGES),
        fc.option(fc.string(), { nil: undefined }),
        (text, code, stage, mx) => {
          const verdict = classifier.classify({ stage, code, enhanced: null, text, mx, origin: 'remote' });
          expect(CATEGORIES).toContain(verdict.category);
          if (verdict.suppress !== 'no') {
            expect(SUPPRESSING).toContain(verdict.category);
            expect(verdict).toMatchObject({ scope: 'recipient', confidence: 'high' });
          }
          if (code < 500) expect(['hard', 'inactive']).not.toContain(verdict.suppress);
          if (code < 500) expect(verdict.action).not.toBe('bounce');
          expect(sentenceOf(explanationOf(verdict)).length).toBeGreaterThan(40);
        },
      ),
      { numRuns: 2000 },
    );
  });

  it('take little work even where they repeat what rules look for', () => {
    const worst = [...new Set(literals.flatMap((word) => [word, word.slice(0, 12)]))]
      .map((word) => `${word} `.repeat(Math.ceil(MAX_SUBJECT_CHARS / (word.length + 1))))
      .concat(literals.join(' '));
    let slowest = { ms: 0, text: '' };
    for (const text of worst) {
      let ms = Number.POSITIVE_INFINITY;
      const classify = () =>
        void classifier.classify({ stage: 'rcpt', code: 550, enhanced: null, text, origin: 'remote' });
      // A millisecond at most on a machine of its own; the first runs are those of the compiler.
      for (let run = 0; run < 8 && (run < 2 || ms >= 1); run += 1) ms = Math.min(ms, cpuMsOf(classify));
      if (ms > slowest.ms) slowest = { ms, text };
    }
    expect(slowest.ms, slowest.text.slice(0, 80)).toBeLessThan(25);
  });

  it('take no more work where they are one word than where they are many', () => {
    const workOf = (text: string) => {
      const classify = () => {
        for (let run = 0; run < 40; run += 1)
          classifier.classify({ stage: 'rcpt', code: 550, enhanced: null, text, origin: 'remote' });
      };
      classify();
      return cpuMsOf(classify);
    };
    const words = workOf('some words '.repeat(MAX_SUBJECT_CHARS / 11));
    expect(workOf('x'.repeat(MAX_SUBJECT_CHARS))).toBeLessThan(3 * words);
  });
});

describe('reading a pasted reply', () => {
  it.each([
    ['550 5.1.1 No such user', 550, '5.1.1', 'No such user'],
    ['550-5.1.1 No such\n550 5.1.1 user', 550, '5.1.1', 'No such user'],
    ['550-5.1.1 No such\\r\\n550 5.1.1 user', 550, '5.1.1', 'No such user'],
    ['smtp;452 4.2.2 full', 452, '4.2.2', 'full'],
    ['554', 554, null, ''],
    ['421 (4.7.0) later', 421, '4.7.0', 'later'],
    ['Remote said:\n550 no', 550, null, 'no'],
  ])('reads %j', (pasted, code, enhanced, text) => {
    expect(readReply(pasted)).toEqual({ code, enhanced, text });
  });

  it('finds none where there is none', () => {
    for (const pasted of ['', 'hello', '55 no', '5500 no', 'x 550'])
      expect(readReply(pasted), pasted).toBeNull();
  });

  it('normalises to one short lower-case line without repeated codes', () => {
    expect(subjectOf(550, '5.1.1', '5.1.1 The  Account\t5.1.1 does NOT exist\r\n')).toBe(
      '550 5.1.1 the account does not exist',
    );
    expect(subjectOf(550, null, 'Empfänger ÜBERFÜLLT, Größe łódź')).toBe(
      '550 empfanger uberfullt, grosse lodz',
    );
    expect(subjectOf(550, null, 'Почтовый ящик переполнен')).toBe('550 почтовыи ящик переполнен');
    expect(subjectOf(550, null, 'メールボックスが一杯')).toBe('550 メールボックスが一杯');
    expect(subjectOf(550, null, 'x'.repeat(9000)).length).toBeLessThanOrEqual(MAX_SUBJECT_CHARS);
  });

  it('reads waits', () => {
    expect(retryHintMs('try again in 5 minutes')).toBe(300_000);
    expect(retryHintMs('Please retry after 30 s')).toBe(30_000);
    expect(retryHintMs('come back later')).toBeNull();
  });
});

describe('the provider of a host', () => {
  const providers = createProviders(shippedRules().providers);
  it('is found by the end of its name', () => {
    expect(providers.ofHost('gmail-smtp-in.l.google.com.')).toBe('google');
    expect(providers.ofHost('MTA5.am0.YahooDNS.net [192.0.2.1]:25')).toBe('yahoo');
    expect(providers.ofHost('notgoogle.com')).toBeNull();
    expect(providers.ofHost('google.com.example.net')).toBeNull();
    expect(providers.ofHost('')).toBeNull();
  });
});

describe('the table of categories', () => {
  it('lets nothing but the recipient’s own categories suppress', () => {
    for (const category of CATEGORIES) {
      const { suppress, suppressTemporary, scope } = categoryFacts(category);
      if (suppress === 'no' && suppressTemporary === 'no') continue;
      expect(SUPPRESSING).toContain(category);
      expect(scope).toBe('recipient');
      expect(suppressTemporary).not.toBe('hard');
    }
  });

  it('never bounces on a temporary reply, and explains every category in whole sentences', () => {
    for (const category of CATEGORIES) {
      const { temporary, permanent, means, fix } = categoryFacts(category);
      expect(temporary.action, category).not.toBe('bounce');
      for (const text of [means, fix]) expect(text, category).toMatch(/^[A-Z].*\.$/);
      for (const handling of [temporary, permanent])
        expect(explanationOf({ category, suppress: 'no', ruleId: 'local', ...handling }).next).toMatch(
          /^(It|All|The) .*\.$/,
        );
      expect(categoryOfClass(pascalCase(category))).toBe(category);
    }
  });
});
