import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { buildEnvelope, xtext } from './client-envelope.ts';
import { commandLine, isSafePath } from './command-guard.ts';
import { NO_CAPABILITIES } from './ehlo.ts';

describe('the command guard', () => {
  it('adds the line end to a clean command', () => {
    expect(commandLine('MAIL FROM:<a@b.test> SIZE=1', false)).toBe('MAIL FROM:<a@b.test> SIZE=1\r\n');
  });

  it.each(['', 'a\rb', 'a\nb', 'a\0b', 'a\tb', 'a\x7fb', 'é', 'x'.repeat(2049)])('refuses %j', (text) => {
    expect(commandLine(text, false)).toBeNull();
  });

  it('lets other scripts through under SMTPUTF8 only, and never a control or half a character', () => {
    expect(commandLine('RCPT TO:<é@例.test>', true)).toBe('RCPT TO:<é@例.test>\r\n');
    for (const text of ['a\u0085b', 'a\ud800b', 'a\nb']) expect(commandLine(text, true)).toBeNull();
  });

  it('keeps every address inside its angle brackets, and every command on one line', () => {
    const capabilities = { ...NO_CAPABILITIES, smtpUtf8: true, dsn: true, sizeOffered: true };
    const hostile = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 20 }),
      fc
        .array(fc.constantFrom('a', '@', '"', '\\', '<', '>', ' ', '\r', '\n', '\0', 'é'), { maxLength: 12 })
        .map((c) => c.join('')),
    );
    fc.assert(
      fc.property(hostile, hostile, fc.boolean(), (mailFrom, recipient, smtpUtf8) => {
        const tx = {
          mailFrom,
          recipients: [recipient],
          data: [],
          size: 1,
          eightBit: false,
          dsn: { envid: mailFrom, orcpt: recipient },
        };
        const envelope = buildEnvelope({ ...tx, smtpUtf8 }, capabilities);
        if (envelope.kind !== 'envelope') return;
        for (const line of [envelope.mail, ...envelope.rcpts]) {
          expect(line.indexOf('\r\n')).toBe(line.length - 2);
          expect(
            Buffer.from(line)
              .subarray(0, -2)
              .every((octet) => octet >= 32 && octet !== 127),
          ).toBe(true);
          expect(smtpUtf8 || Buffer.from(line).every((octet) => octet < 128)).toBe(true);
        }
        expect(isSafePath(mailFrom) && isSafePath(recipient)).toBe(true);
      }),
      { numRuns: 1000 },
    );
  });

  it('tells a bracket inside a quoted local part from one outside', () => {
    for (const good of ['', 'a@b', '"a b"@c', '"a>b"@c', '"a\\"b"@c']) expect(isSafePath(good)).toBe(true);
    for (const bad of ['a>b@c', 'a b@c', '<a@c', '"a@c', '"a\\"@c', 'a\\'])
      expect(isSafePath(bad)).toBe(false);
  });

  it('writes xtext', () => {
    expect(xtext('a+b=c d~')).toBe('a+2Bb+3Dc+20d~');
    expect(xtext('\r\n')).toBe('+0D+0A');
    expect(xtext('é')).toBeNull();
  });
});
