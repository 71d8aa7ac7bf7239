import fc from 'fast-check';
import PostalMime from 'postal-mime';
import { describe, expect, it } from 'vitest';
import type { SubmittedAttachment } from '../../model/submission.ts';
import { type Composed, type ComposeInput, compose } from './compose.ts';

const anyText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 120 }),
  fc.string({ maxLength: 120 }),
  fc
    .array(
      fc.constantFrom(
        ' ',
        '=',
        '"',
        '\\',
        'é',
        '日本',
        '\u{1f469}\u{200d}\u{1f680}',
        '=?utf-8?Q?x?=',
        '\r\n',
        '\r',
        '\n',
        '\0',
        'x'.repeat(90),
        '--=_m_',
        '\r\nBcc: evil@example.org\r\n\r\n',
        'مرحبا',
        '.',
        'From ',
        '<',
        ',',
        '\ud800',
        '%',
        "'",
      ),
      { maxLength: 25 },
    )
    .map((words) => words.join('')),
);
const address = fc.constantFrom('a@b.example', 'first.last+tag@xn--mnchen-3ya.de', "o'hara@b.example");
const mailbox = fc.record({ name: anyText, address });
const attachment: fc.Arbitrary<SubmittedAttachment> = fc.record({
  content: fc.uint8Array({ maxLength: 200 }),
  type: fc.oneof(
    fc.constantFrom(
      '',
      'image/png',
      'text/csv; header=present; name=x',
      'message/rfc822',
      'multipart/mixed; boundary=x',
    ),
    anyText,
  ),
  // postal-mime decodes encoded words inside RFC 2231 values, against RFC 2047 §5; so none here.
  filename: anyText.map((text) => text.replaceAll('=?', '_')),
  disposition: fc.constantFrom('attachment' as const, 'inline' as const),
  contentId: fc.constantFrom(null, 'logo', 'a@b.c'),
});
const input: fc.Arbitrary<ComposeInput> = fc.record({
  messageId: fc.uuid(),
  fromDomain: fc.constant('b.example'),
  dateMs: fc.integer({ min: 0, max: 4_000_000_000_000 }),
  from: mailbox,
  to: fc.array(mailbox, { minLength: 1, maxLength: 4 }),
  cc: fc.array(mailbox, { maxLength: 3 }),
  replyTo: fc.array(mailbox, { maxLength: 2 }),
  subject: anyText,
  body: fc.oneof(
    fc.record({ kind: fc.constant('html' as const), html: anyText, text: fc.option(anyText) }),
    fc.record({ kind: fc.constant('text' as const), text: anyText }),
  ),
  headers: fc.array(
    fc.tuple(
      fc.constantFrom('X-One', 'References', 'Bcc', 'X-Bad\r\nBcc', 'Content-Type', 'x'.repeat(126)),
      anyText,
    ),
    { maxLength: 3 },
  ),
  attachments: fc.array(attachment, { maxLength: 3 }),
});

/** Controls as blanks, no lone surrogates, no blanks at the ends: what a header can hold. */
const clean = (text: string): string => {
  let out = '';
  for (const character of text.toWellFormed()) {
    const code = character.codePointAt(0) ?? 0;
    out += code < 32 || code === 127 ? ' ' : character;
  }
  return out.replace(/^ +| +$/g, '');
};
const lines = (text: string): string => text.toWellFormed().replace(/\r\n?|\n/g, '\n');

function expectSafeBytes({ bytes, bodyOffset }: Composed): void {
  const text = Buffer.from(bytes).toString('latin1');
  expect(text.endsWith('\r\n')).toBe(true);
  expect(text.slice(bodyOffset - 4, bodyOffset)).toBe('\r\n\r\n');
  expect(text.indexOf('\r\n\r\n')).toBe(bodyOffset - 4);
  for (const line of text.split('\r\n')) {
    expect(line.length).toBeLessThanOrEqual(998);
    expect(line).toMatch(/^[\x20-\x7e\t]*$/);
    expect(line).not.toMatch(/[ \t]$/);
  }
  expect(text.slice(0, bodyOffset)).not.toMatch(/^(?:resent-)?bcc/im);
}

// postal-mime drops a byte order mark at the start of a decoded word or body; what it keeps is compared.
const marks = (text: string): string => text.replaceAll('\ufeff', '');
const squeeze = (text: string): string => marks(text).replace(/\s+/g, ' ').trim();

describe('compose, whatever it is given', () => {
  it('leaves safe bytes that a foreign parser reads back field by field', async () => {
    await fc.assert(
      fc.asyncProperty(input, async (given) => {
        const composed = compose(given);
        expectSafeBytes(composed);
        expect(Buffer.from(compose(given).bytes).equals(Buffer.from(composed.bytes))).toBe(true);
        const mail = await new PostalMime({ attachmentEncoding: 'arraybuffer' }).parse(
          Buffer.from(composed.bytes),
        );

        expect(marks(mail.subject ?? '')).toBe(marks(clean(given.subject)));
        expect(mail.messageId).toBe(`<${given.messageId}@b.example>`);
        expect(new Date(mail.date ?? '').getTime()).toBe(Math.floor(given.dateMs / 1000) * 1000);
        for (const [list, parsed] of [
          [[given.from], [mail.from]],
          [given.to, mail.to],
          [given.cc, mail.cc],
          [given.replyTo, mail.replyTo],
        ] as const) {
          expect((parsed ?? []).map((m) => [squeeze(m?.name ?? ''), m?.address])).toEqual(
            list.map((m) => [squeeze(clean(m.name)), m.address]),
          );
        }
        const kept = given.headers.filter(([name]) => /^(?:X-One|References|x+)$/.test(name));
        expect(mail.headers.filter((h) => /^(?:x-one|references|x+)$/.test(h.key)).map((h) => h.key)).toEqual(
          kept.map(([name]) => name.toLowerCase()),
        );

        const body = given.body;
        const sent = { html: body.kind === 'html' ? body.html : null, text: body.text };
        // A single body ends in a line end of its own, and the parser adds one before a boundary.
        for (const [text, parsed] of [
          [sent.html, mail.html],
          [sent.text, mail.text],
        ] as const) {
          const expected = marks(lines(text ?? ''));
          if (text !== null) expect([expected, `${expected}\n`]).toContain(marks(lines(parsed ?? '')));
        }

        const inline = (a: SubmittedAttachment): boolean =>
          a.disposition === 'inline' && body.kind === 'html' && a.contentId !== null;
        const expected = [
          ...given.attachments.filter(inline),
          ...given.attachments.filter((a) => !inline(a)),
        ];
        expect(
          mail.attachments.map((a) => [
            squeeze(a.filename ?? ''),
            a.disposition,
            a.contentId,
            Buffer.from(a.content as ArrayBuffer).toString('hex'),
          ]),
        ).toEqual(
          expected.map((a) => [
            squeeze(clean(a.filename)),
            inline(a) ? 'inline' : 'attachment',
            a.contentId === null ? undefined : `<${a.contentId}>`,
            Buffer.from(a.content).toString('hex'),
          ]),
        );
        for (const a of mail.attachments) expect(a.mimeType).not.toMatch(/^(?:message|multipart)\//);
      }),
      { numRuns: 300 },
    );
  }, 60_000);
});
