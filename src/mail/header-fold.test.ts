import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { foldAddressList, foldBracketed, foldUnstructured } from './header-fold.ts';

const unfold = (header: string): string => header.replace(/\r\n(?=[ \t])/g, '').replace(/\r\n$/, '');

function expectSafe(header: string): void {
  expect(header.endsWith('\r\n')).toBe(true);
  for (const [i, line] of header.slice(0, -2).split('\r\n').entries()) {
    expect(line.length).toBeLessThanOrEqual(998);
    expect(line).toMatch(i === 0 ? /^[!-9;-~]+:/ : /^ +[!-~]/);
    expect(line).not.toMatch(/[^\x20-\x7e]| $/);
  }
}

describe('foldBracketed', () => {
  it.each([
    ['Ünï <x.example.com>', '=?utf-8?B?w5xuw68=?= <x.example.com>'],
    ['"Ünï, Club" <x.example.com>', '=?utf-8?B?w5xuw68sIENsdWI=?= <x.example.com>'],
    ['Plain "quoted"  <x.example.com>', 'Plain "quoted"  <x.example.com>'],
    [
      '<https://x.example/> (Grüße), <mailto:a@x.example>',
      '<https://x.example/> ( =?utf-8?B?R3LDvMOfZQ==?= ) , <mailto:a@x.example>',
    ],
    ['é', '=?utf-8?B?w6k=?='],
    ['<é@x.example>', '=?utf-8?B?PMOpQHguZXhhbXBsZT4=?='],
    ['<a@x.example> ü <b@x.example>', '<a@x.example> =?utf-8?B?w7w=?= <b@x.example>'],
  ])('keeps what is in angle brackets, and encodes the text beside it: %s', (value, expected) => {
    expect(unfold(foldBracketed('List-Id', value))).toBe(`List-Id: ${expected}`);
  });

  it('leaves safe lines whatever the text', () => {
    const part = fc.constantFrom(
      '<',
      '>',
      '(',
      ')',
      '"',
      '\\',
      ',',
      ' ',
      'é',
      'x'.repeat(300),
      '\r\n',
      '\0',
      '\ud800',
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 30 }), (parts) =>
        expectSafe(foldBracketed('List-Id', parts.join(''))),
      ),
    );
  });
});

describe('foldUnstructured', () => {
  it('keeps short ASCII as it is', () => {
    expect(foldUnstructured('Subject', 'Hello  there')).toBe('Subject: Hello  there\r\n');
    expect(foldUnstructured('X-A', '')).toBe('X-A:\r\n');
  });

  it('folds long ASCII at 76 so that unfolding gives it back', () => {
    const text = 'lorem ipsum  dolor '.repeat(40).trim();
    const header = foldUnstructured('Subject', text);
    expect(unfold(header)).toBe(`Subject: ${text}`);
    for (const line of header.split('\r\n')) expect(line.length).toBeLessThanOrEqual(76);
  });

  it('puts a token of 995 octets on a line of its own and encodes what no line can hold', () => {
    for (const name of ['X-A', 'X'.repeat(126)]) {
      const token = 'x'.repeat(995);
      expect(foldUnstructured(name, token)).toBe(`${name}:\r\n ${token}\r\n`);
      for (const huge of ['x'.repeat(5000), `a${' '.repeat(3000)}b`, 'é'.repeat(2000)]) {
        const header = foldUnstructured(name, huge);
        expectSafe(header);
        for (const line of header.split('\r\n').slice(1)) expect(line.length).toBeLessThanOrEqual(76);
      }
    }
  });

  it('encodes look-alikes of encoded words only where asked', () => {
    const text = '=?utf-8?Q?x?=';
    expect(foldUnstructured('References', text)).toBe(`References: ${text}\r\n`);
    expect(foldUnstructured('Subject', text, true)).toBe('Subject: =?utf-8?B?PT91dGYtOD9RP3g/PQ==?=\r\n');
  });

  it('leaves safe lines whatever the text', () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 400 }),
      fc
        .array(
          fc.constantFrom(
            ' ',
            'x'.repeat(80),
            'x'.repeat(990),
            'x'.repeat(998),
            '\r\n',
            '\r',
            '\0',
            'é',
            ' '.repeat(1000),
          ),
        )
        .map((a) => a.join('')),
    );
    fc.assert(
      fc.property(text, fc.constantFrom('Subject', 'X'.repeat(126)), (value, name) => {
        const header = foldUnstructured(name, value, true);
        expectSafe(header);
        if (header.includes('=?utf-8?')) {
          for (const line of header.split('\r\n').slice(1)) expect(line.length).toBeLessThanOrEqual(76);
        }
      }),
    );
  });
});

describe('foldAddressList', () => {
  it('writes bare addresses, atoms, quoted strings and encoded words', () => {
    const header = foldAddressList('To', [
      { name: '', address: 'a@b.example' },
      { name: 'Ann Lee', address: 'a@b.example' },
      { name: 'Lee, "Ann" \\', address: 'a@b.example' },
      { name: 'Łukasz, 日本', address: 'a@b.example' },
    ]);
    expect(header).toBe(
      'To: a@b.example, Ann Lee <a@b.example>, "Lee, \\"Ann\\" \\\\" <a@b.example>,\r\n' +
        ' =?utf-8?B?xYF1a2Fzeiwg5pel5pys?= <a@b.example>\r\n',
    );
    expect(foldAddressList('Cc', [])).toBe('');
  });

  it('leaves safe lines of 76 where addresses allow, whatever the names', () => {
    const mailbox = fc.record({
      name: fc.oneof(fc.string({ unit: 'binary', maxLength: 300 }), fc.string({ maxLength: 1200 })),
      address: fc.constantFrom('a@b.example', `${'l'.repeat(64)}@${'d'.repeat(60)}.example`),
    });
    fc.assert(
      fc.property(fc.array(mailbox, { minLength: 1, maxLength: 8 }), (mailboxes) => {
        const header = foldAddressList('Reply-To', mailboxes);
        expectSafe(header);
        for (const line of header.split('\r\n')) {
          if (!line.includes('l'.repeat(64))) expect(line.length).toBeLessThanOrEqual(76);
        }
      }),
    );
  });
});
