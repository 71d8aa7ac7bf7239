import { describe, expect, it } from 'vitest';
import { isNamedByPolicy, MAX_POLICY_AGE_SECONDS, parseMtaStsPolicy, readMtaStsRecord } from './mta-sts.ts';

const text = (...lines: string[]) => lines.join('\r\n');
const GOOD = text(
  'version: STSv1',
  'mode: enforce',
  'mx: mail.example.com',
  'mx: *.Example.NET',
  'max_age: 604800',
  '',
);

describe('the record', () => {
  it.each([
    [['v=STSv1; id=20160831085700Z;'], '20160831085700Z'],
    [['v=STSv1;id=1'], '1'],
    [['v=spf1 -all', 'v=STSv1; id=a; future=field'], 'a'],
    [['v=STSv1;  id=a2 ;'], 'a2'],
  ])('%j announces %j', (records, id) => {
    expect(readMtaStsRecord(records)).toBe(id);
  });

  it.each([
    [[]],
    [['v=STSv1; id=a', 'v=STSv1; id=b']],
    [['v=STSv1']],
    [['v=STSv1; id=']],
    [['v=STSv1; id=with-dash']],
    [[`v=STSv1; id=${'a'.repeat(33)}`]],
    [['v=STSv2; id=a']],
    [['v=STSv11; id=a']],
  ])('%j announces nothing', (records) => {
    expect(readMtaStsRecord(records)).toBeNull();
  });
});

describe('the policy', () => {
  it('is read with CRLF or LF, fields in any order, unknown ones passed over', () => {
    const policy = { mode: 'enforce', mx: ['mail.example.com', '*.example.net'], maxAgeSeconds: 604_800 };
    expect(parseMtaStsPolicy(GOOD)).toEqual({ kind: 'policy', policy });
    expect(parseMtaStsPolicy(GOOD.replaceAll('\r', ''))).toEqual({ kind: 'policy', policy });
    const other = text('max_age:604800', 'mx:mail.example.com', 'later: x', 'mode:testing', 'version:STSv1');
    expect(parseMtaStsPolicy(other)).toMatchObject({ policy: { mode: 'testing' } });
  });

  it('may name nobody in mode none only, and lasts a year at most', () => {
    expect(parseMtaStsPolicy(text('version: STSv1', 'mode: none', 'max_age: 86400')).kind).toBe('policy');
    const long = parseMtaStsPolicy(GOOD.replace('604800', '9999999999'));
    expect(long).toMatchObject({ policy: { maxAgeSeconds: MAX_POLICY_AGE_SECONDS } });
  });

  it.each([
    ['', 'version'],
    [GOOD.replace('STSv1', 'STSv2'), 'version'],
    [GOOD.replace('enforce', 'Enforce'), 'mode'],
    [GOOD.replace('604800', '-1'), 'max_age'],
    [GOOD.replace('604800', '99999999999'), 'max_age'],
    [GOOD.replace(/mx:.*\r\n/g, ''), 'no mx'],
    [GOOD.replace('mail.example.com', 'mail example'), 'host name'],
    [GOOD.replace('mail.example.com', '*'), 'host name'],
    [GOOD.replace('mail.example.com', 'a.*.example.com'), 'host name'],
    ['<html>\n<p>Hello', 'name: value'],
    [
      `version: STSv1\nmode: enforce\nmax_age: 1\n${Array.from({ length: 101 }, (_, i) => `mx: m${i}.example\n`).join('')}`,
      '100',
    ],
  ])('is refused: %#', (policy, why) => {
    expect(parseMtaStsPolicy(policy)).toMatchObject({
      kind: 'invalid',
      detail: expect.stringContaining(why),
    });
  });
});

it.each([
  ['mail.example.com', true],
  ['mx1.example.net', true],
  ['example.net', false],
  ['a.mx1.example.net', false],
  ['mail.example.com.evil.example', false],
  ['net', false],
  ['.example.net', false],
])('the policy names %s: %s', (host, named) => {
  expect(isNamedByPolicy({ mx: ['mail.example.com', '*.example.net'] }, host)).toBe(named);
});
