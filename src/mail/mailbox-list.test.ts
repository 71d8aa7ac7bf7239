/** Address lists of received messages: the forms that occur in real mail, and hostile ones in linear time. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cpuMsOf } from '../../test/fakes/thread-cpu.ts';
import { parseMailboxList } from './mailbox-list.ts';

const names = (value: string) => parseMailboxList(value).map(({ name, address }) => `${name}|${address}`);

describe('an address list', () => {
  it.each([
    ['a@example.com', ['|a@example.com']],
    ['<a@EXAMPLE.com>', ['|a@example.com']],
    ['Ann <a@example.com>, b@example.org', ['Ann|a@example.com', '|b@example.org']],
    ['"Ann, of \\"X\\"" <a@example.com>', ['Ann, of "X"|a@example.com']],
    ['a@example.com (Ann (the first))', ['Ann (the first)|a@example.com']],
    ['a@example.com (Ann), b@example.org', ['Ann|a@example.com', '|b@example.org']],
    ['=?utf-8?q?J=C3=B6rg?= <j@example.com>', ['Jörg|j@example.com']],
    [
      'Team: a@example.com, B <b@example.com>; c@example.com',
      ['|a@example.com', 'B|b@example.com', '|c@example.com'],
    ],
    ['undisclosed-recipients:;', []],
    ['', []],
    [' , ,a@example.com,', ['|a@example.com']],
    ['"evil@example.org" <a@example.com>', ['evil@example.org|a@example.com']],
    ['a . b @ example . com', ['|a.b@example.com']],
  ])('%j', (value, expected) => {
    expect(names(value)).toEqual(expected);
  });

  it.each([
    'nobody',
    '"a b"@example.com',
    '"a"@example.com',
    'a@example.com b@example.com',
    'A <a@example.com> B',
    'A <a@example.com> <b@example.com>',
    'A <a@example.com',
    'A <<a@example.com>>',
    '"open <a@example.com>',
    '(open a@example.com',
    'a@[127.0.0.1]',
    '=?utf-8?q?a=40example=2Ecom?=',
    '('.repeat(40_000),
  ])('passes over what cannot be read, and only that: %j', (value) => {
    expect(names(value)).toEqual([]);
    expect(names(`A <a@example.org>, ${value}`)).toEqual(['A|a@example.org']);
  });

  it.each(['nobody', '"a b"@example.com', 'A <a@example.com> B', 'A <<a@example.com>>', 'a@[127.0.0.1]'])(
    'reads on after %j',
    (value) => {
      expect(names(`${value}, (x) B <b@example.org>`)).toEqual(['B|b@example.org']);
      expect(names(`Team: ${value}, b@example.org;, c@example.org`)).toEqual([
        '|b@example.org',
        '|c@example.org',
      ]);
    },
  );

  it('ends with its longest length and number', () => {
    expect(names('a@example.com,'.repeat(3000))).toHaveLength(2000);
    expect(names(`a@example.com${' '.repeat(65_536)}`)).toEqual([]);
  });

  it('never throws, and never takes long', () => {
    const part = fc.constantFrom(
      'a',
      '@',
      'example.com',
      '<',
      '>',
      '"',
      '\\',
      '(',
      ')',
      ',',
      ':',
      ';',
      ' ',
      '=?',
      '?=',
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 60 }), (parts) => void parseMailboxList(parts.join(''))),
    );
    const ms = cpuMsOf(() => {
      for (const unit of ['(', '"', '<', 'a,', '\\', ':', '=?a?q?', ' '])
        parseMailboxList(unit.repeat(30_000).slice(0, 60_000));
    });
    expect(ms).toBeLessThan(1000);
  });
});
