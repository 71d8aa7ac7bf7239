import { describe, expect, it } from 'vitest';
import { createClassifier, shippedRules } from './classify.ts';
import { readReply } from './normalise.ts';
import { createProviders } from './provider.ts';
import { expressionProblem, type RuleData, readRules } from './rule-set.ts';

const shipped = shippedRules();
const providers = createProviders(shipped.providers);
const classifier = createClassifier();
const STAGE = { connection: 'banner', mail: 'mail', rcpt: 'rcpt', data: 'dot' } as const;

const RULE: RuleData = {
  id: 'T1',
  when: '5xx',
  re: 'no parking.{0,20}today',
  lit: ['parking'],
  category: 'policy_other',
  confidence: 'high',
  example: '550 5.7.1 No parking here today',
  nearMiss: '550 5.7.1 No parking here tomorrow',
};

describe('the shipped rules', () => {
  const read = readRules(shipped.rules, providers.ids);
  const rules = read.kind === 'rules' ? read.rules : [];

  it('are all valid, each with an example that matches and a near miss that does not', () => {
    expect(read.kind === 'refused' ? read.errors : []).toEqual([]);
    expect(rules.length).toBeGreaterThanOrEqual(90);
  });

  it.each(rules.map((rule) => [rule.id, rule] as const))('%s decides its own example', (id, rule) => {
    const reply = readReply(rule.example);
    const suffix = shipped.providers.find((provider) => provider.id === rule.provider)?.suffixes[0];
    const verdict = classifier.classify({
      stage: STAGE[rule.stages?.[0] ?? 'rcpt'],
      code: reply?.code ?? 0,
      enhanced: reply?.enhanced ?? null,
      text: reply?.text ?? '',
      mx: suffix === undefined ? 'mx.example.net' : `mx1${suffix}`,
      origin: 'remote',
    });
    expect(verdict.ruleId).toBe(id);
    expect(verdict.category).toBe(rule.category);
  });

  it('put what is said about addresses and connections ahead of what is said about content', () => {
    const at = (id: string) => rules.findIndex((rule) => rule.id === id);
    for (const path of ['P01', 'P02', 'P03', 'P04']) expect(at(path), path).toBeLessThan(at('X10'));
    for (const path of ['P01', 'P02', 'P03', 'P04']) expect(at(path), path).toBeLessThan(at('X03'));
  });
});

describe('a list of rules', () => {
  it('is refused with the index of the bad rule and what is wrong with it', () => {
    const result = readRules([RULE, { ...RULE, id: 'T2', re: '(a+)+b' }], providers.ids);
    expect(result).toEqual({
      kind: 'refused',
      errors: [{ index: 1, id: 'T2', message: 'unbounded repetition (* or +): use {0,60}' }],
    });
  });

  it.each([
    [
      'a rule that does not match its example',
      { example: '550 5.7.1 Parking is fine' },
      'does not match its example',
    ],
    ['a rule that matches its near miss', { nearMiss: '550 No parking today' }, 'matches its near miss'],
    ['a rule without a near miss', { nearMiss: undefined }, 'nearMiss is missing'],
    ['a category that does not exist', { category: 'bad_luck' }, 'no category bad_luck'],
    ['a provider that does not exist', { provider: 'acme' }, 'no provider acme'],
    ['a literal in capitals', { lit: ['Parking'] }, 'literals are lower-case'],
    ['a literal with an accent', { lit: ['überfüllt'] }, 'without accents'],
    ['a rule without literals', { lit: [] }, 'lit is a list of texts'],
    ['a misspelt field', { literals: ['x'] }, 'unknown field literals'],
    ['an expression that does not parse', { re: 'no parking(' }, 'Invalid regular expression'],
    ['a wait that is no number', { waitMs: 'soon' }, 'waitMs is a positive whole number'],
  ])('refuses %s', (_, change, message) => {
    const result = readRules([{ ...RULE, ...change }], providers.ids);
    expect(result.kind === 'refused' ? result.errors.map((e) => e.message).join('\n') : 'accepted').toContain(
      message,
    );
  });

  it('takes one that says when and from where it is, and what may be left out', () => {
    const rule = { ...RULE, when: 'any', since: '2026-11', source: 'a test', hint: true };
    expect(readRules([rule], providers.ids).kind).toBe('rules');
  });

  it('refuses two rules of one name, and whatever is no list of objects', () => {
    expect(readRules([RULE, RULE], providers.ids)).toMatchObject({
      errors: [{ index: 1, message: 'another rule has this id' }],
    });
    expect(readRules({ rules: [] }, providers.ids)).toMatchObject({ errors: [{ index: -1 }] });
    expect(readRules([null, 7, 'x', []], providers.ids)).toMatchObject({ kind: 'refused' });
  });

  it.each([
    ['a*b', 'unbounded'],
    ['(?:a{0,5}){0,5}', 'contains a repetition'],
    ['a{3,}', 'upper bound'],
    ['(?=a)b', 'groups are allowed'],
    ['(a)\\1', 'back-references'],
    ['a.{0,200}b.{0,200}c', 'gaps multiply'],
  ])('refuses the expression %s', (expression, problem) => {
    expect(expressionProblem(expression)).toContain(problem);
  });

  it('takes bounded gaps, classes with any characters and escaped signs', () => {
    for (const expression of [
      'a.{0,60}b',
      '[*+?{]x',
      'a\\+b\\*c',
      '(?:no|not) (?:x )?y',
      'a.{0,99}b|c.{0,99}d',
    ])
      expect(expressionProblem(expression), expression).toBeNull();
  });
});

describe('an operator’s own rules', () => {
  it('go ahead of the shipped ones, and a bad list changes nothing', () => {
    const own = createClassifier();
    const reply = {
      stage: 'rcpt',
      code: 550,
      enhanced: null,
      text: 'No parking here today, user unknown',
      origin: 'remote',
    } as const;
    expect(own.classify(reply).category).toBe('recipient_invalid');
    expect(own.useOperatorRules([RULE])).toEqual({ kind: 'used', count: 1 });
    expect(own.classify(reply)).toMatchObject({ category: 'policy_other', ruleId: 'T1', suppress: 'no' });
    expect(own.useOperatorRules([{ ...RULE, re: '(' }])).toMatchObject({
      kind: 'kept',
      errors: [{ index: 0, id: 'T1' }],
    });
    expect(own.classify(reply).ruleId).toBe('T1');
  });
});
