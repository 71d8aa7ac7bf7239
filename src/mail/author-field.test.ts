/** The author field: forms that are taken, forms that two programs read differently, and hostile ones in linear time. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cpuMsOf } from '../../test/fakes/thread-cpu.ts';
import { parseAuthor, shownDomains } from './author-field.ts';

const read = (value: string) => {
  const found = parseAuthor(value);
  return found.ok ? [found.author.name, found.author.address.text, ...found.author.shown] : found.problem;
};

describe('an author', () => {
  it.each([
    ['a@example.com', ['', 'a@example.com']],
    ['<a@EXAMPLE.com>', ['', 'a@example.com']],
    ['< a@example.com >', ['', 'a@example.com']],
    ['Ann <a@example.com>', ['Ann', 'a@example.com']],
    ['J. R. Doe<a@example.com>', ['J. R. Doe', 'a@example.com']],
    ["Ann's Shop & Co <a@example.com>", ["Ann's Shop & Co", 'a@example.com']],
    ['"Ann, of \\"X\\"; a:b" <a@example.com>', ['Ann, of "X"; a:b', 'a@example.com']],
    ['"" <a@example.com>', ['', 'a@example.com']],
    ['a@example.com (Cron Daemon)', ['Cron Daemon', 'a@example.com']],
    ['Joe (Sales) <a@example.com>', ['Joe Sales', 'a@example.com']],
    ['Jörg 東京 <a@example.com>', ['Jörg 東京', 'a@example.com']],
    ['=?utf-8?q?J=C3=B6rg?= =?utf-8?b?IFguWS4=?= <a@example.com>', ['Jörg X.Y.', 'a@example.com']],
    ['"=?utf-8?q?J=C3=B6rg?=" <a@example.com>', ['Jörg', 'a@example.com']],
    ['=?iso-2022-jp?B?GyRCJUYlOSVIGyhC?= <a@example.com>', ['テスト', 'a@example.com']],
    ['a@bücher.example', ['', 'a@xn--bcher-kva.example']],
    ['"b@example.org" <a@example.com>', ['b@example.org', 'a@example.com', 'example.org']],
    ['=?utf-8?q?b=40example=2Eorg?= <a@example.com>', ['b@example.org', 'a@example.com', 'example.org']],
  ])('%j', (value, expected) => {
    expect(read(value)).toEqual(expected);
  });

  it.each([
    '',
    'nobody',
    '<>',
    'a@example.com, b@example.org',
    'a@example.com,',
    ',a@example.com',
    'b@example.org <a@example.com>',
    'a@example.com <a@example.com>',
    'b@example.org; <a@example.com>',
    'b@example.org:; a@example.com',
    'Team: a@example.com;',
    'A [B] <a@example.com>',
    'A <a@example.com> B',
    'A <a@example.com> <b@example.com>',
    '<b@example.org><a@example.com>',
    'A <<a@example.com>>',
    '<@example.org:a@example.com>',
    'a @example.com',
    'a(x)@example.com',
    '"a"@example.com',
    '"a"b <a@example.com>',
    '(b@example.org) a@example.com',
    'a@example.com ((x))',
    'a@example.com (x\\)',
    'A\\B <a@example.com>',
    '=?utf-8?q?a=40example=2Ecom?=',
    '<=?utf-8?q?b=40example=2Eorg=3E?=@example.com>',
    '=?utf-7?q?b+AEA-example?= <a@example.com>',
    '=?utf-16le?b?YgBAAA==?= <a@example.com>',
    '=?utf-8?b?Y?= <a@example.com>',
    '=?utf-8?q?=4?= <a@example.com>',
    '=?utf-8?q?x=0D=0AFrom:_b?= <a@example.com>',
    '=?utf-8?q?=3D=3Futf-8=3Fq=3Fx=3F=3D?= <a@example.com>',
    'b＠example.org@example.com',
    'a@example.com\u00ad',
    'a@ｅxample.com',
    'a@bu\u0308cher.example',
    'A\u0000 <a@example.com>',
    'A\u2028 <a@example.com>',
    `${'x'.repeat(2000)} <a@example.com>`,
  ])('is not read from %j', (value) => {
    expect(typeof read(value)).toBe('string');
  });

  it.each([
    ['a@example.com, b@example.org', 'has a comma after the address; name one author'],
    ['A <a@example.com>, B <b@example.org>', 'has a comma after the address; name one author'],
    ['a@example.com b', 'has text after the address'],
  ])('says what is wrong with %j', (value, problem) => {
    expect(read(value)).toContain(problem);
  });

  it('never throws, and takes linear time', () => {
    const part = fc.constantFrom(
      'a',
      '@',
      'b.c',
      '<',
      '>',
      '"',
      '\\',
      '(',
      ')',
      ',',
      ':',
      ' ',
      '=?',
      '?=',
      '=?a?q?',
    );
    fc.assert(fc.property(fc.array(part, { maxLength: 60 }), (parts) => void parseAuthor(parts.join(''))));
    const ms = cpuMsOf(() => {
      for (const unit of ['(', '"', '<', 'a@', '\\', '@ ', '=?a?q?', '=?utf-8?b?', ' ', 'a@b.c']) {
        for (let i = 0; i < 20; i += 1) parseAuthor(unit.repeat(2000).slice(0, 2000));
        shownDomains(unit.repeat(1000));
      }
    });
    expect(ms).toBeLessThan(1000);
  });
});

describe('the addresses that a text shows', () => {
  it.each([
    ['Ann', []],
    ['Jane @ Acme', []],
    ['@acme.com', []],
    ['50% @ 5', []],
    ['b@Example.ORG via Shop', ['example.org']],
    ['b @ example . org', ['example.org']],
    ['<b@example.org>', ['example.org']],
    ['b＠example．org', ['example.org']],
    ['b@example。org', ['example.org']],
    ['b@bücher.example', ['xn--bcher-kva.example']],
    ['a@b.example, c@d.example, e@b.example', ['b.example', 'd.example']],
    ['a@-x-.example', ['-x-.example']],
  ])('%j', (text, expected) => {
    expect(shownDomains(text)).toEqual(expected);
  });
});

describe('the domains that a name of the API shows', () => {
  it.each([
    ['Foo @ J.P. Morgan', []],
    ['Chez Paul @ St. Denis', []],
    ['Ben @ Booking.com', []],
    ['Price @ 3.50', []],
    ['Mon@9.30', []],
    ['ceo@bank.example via Shop', ['bank.example']],
    ['ceo＠bank.example', ['bank.example']],
  ])('%s', (name, domains) => {
    expect(shownDomains(name, { apart: false })).toEqual(domains);
  });
});
