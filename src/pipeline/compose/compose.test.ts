import PostalMime from 'postal-mime';
import { describe, expect, it } from 'vitest';
import { readMime } from '../../mail/mime-tree.ts';
import { type ComposeInput, compose, dateText } from './compose.ts';

const base: ComposeInput = {
  messageId: '0193a1b2-7c3d-7e4f-8a5b-6c7d8e9f0a1b',
  fromDomain: 'example.com',
  dateMs: Date.UTC(2026, 10, 21, 11, 44, 0),
  from: { name: 'Ann', address: 'ann@example.com' },
  to: [{ name: '', address: 'bob@example.net' }],
  cc: [],
  replyTo: [],
  subject: 'Hello',
  body: { kind: 'text', text: 'Hi Bob\n' },
  headers: [],
  attachments: [],
};

describe('compose', () => {
  it('writes a small text message exactly', () => {
    const { bytes, bodyOffset, needsSmtpUtf8 } = compose(base);
    const text = Buffer.from(bytes).toString('latin1');
    expect(text).toBe(
      [
        'Date: Sat, 21 Nov 2026 11:44:00 +0000',
        'From: Ann <ann@example.com>',
        'To: bob@example.net',
        'Subject: Hello',
        'Message-ID: <0193a1b2-7c3d-7e4f-8a5b-6c7d8e9f0a1b@example.com>',
        'MIME-Version: 1.0',
        'Content-Type: text/plain; charset=utf-8',
        'Content-Transfer-Encoding: quoted-printable',
        '',
        'Hi Bob',
        '',
      ].join('\r\n'),
    );
    expect(text.slice(bodyOffset)).toBe('Hi Bob\r\n');
    expect(needsSmtpUtf8).toBe(false);
  });

  it('keeps the identifier of a list beside a name that is encoded', () => {
    const headers = [['List-Id', 'Ünï <x.example.com>']] as const;
    const text = Buffer.from(compose({ ...base, headers }).bytes).toString('latin1');
    expect(text).toContain('\r\nList-Id: =?utf-8?B?w5xuw68=?= <x.example.com>\r\n');
  });

  it('nests text, HTML, inline files and files so that a foreign parser finds each', async () => {
    const { bytes } = compose({
      ...base,
      subject: 'Grüße — 日本語の件名',
      from: { name: 'Jörg "J" Müller', address: 'ann@example.com' },
      body: { kind: 'html', html: '<p>Hällo <img src="cid:logo@1"></p>', text: 'Hällo' },
      attachments: [
        {
          content: Buffer.from('png'),
          type: 'image/png',
          filename: 'logo.png',
          disposition: 'inline',
          contentId: 'logo@1',
        },
        {
          content: Buffer.from('pdf'),
          type: '',
          filename: 'Résumé 日本.pdf',
          disposition: 'attachment',
          contentId: null,
        },
      ],
    });
    const mail = await new PostalMime().parse(bytes as Uint8Array<ArrayBuffer>);
    expect(mail.subject).toBe('Grüße — 日本語の件名');
    expect(mail.from).toEqual({ name: 'Jörg "J" Müller', address: 'ann@example.com' });
    expect(mail.text?.trim()).toBe('Hällo');
    expect(mail.html?.trim()).toBe('<p>Hällo <img src="cid:logo@1"></p>');
    expect(mail.attachments.map((a) => [a.filename, a.mimeType, a.disposition, a.contentId])).toEqual([
      ['logo.png', 'image/png', 'inline', '<logo@1>'],
      ['Résumé 日本.pdf', 'application/pdf', 'attachment', undefined],
    ]);
  });

  it('keeps the Date header at 31 characters', () => {
    for (const ms of [0, 951_782_400_000, 1_795_261_440_999, 253_402_300_799_000]) {
      expect(dateText(ms)).toHaveLength(31);
    }
    expect(dateText(1_795_261_440_999)).toBe('Sat, 21 Nov 2026 11:44:00 +0000');
  });

  it('leaves out headers that only compose may write', () => {
    const names = ['Bcc', 'BCC', 'Resent-Bcc', 'From', 'Content-Type', 'Message-ID', 'A B', 'X\r\nBcc', ''];
    const { bytes } = compose({ ...base, headers: names.map((name) => [name, 'evil@example.org'] as const) });
    expect(bytes).toEqual(compose(base).bytes);
  });

  it('throws on addresses, domains and ids that nobody parsed', () => {
    for (const address of [
      'a',
      'a b@c.d',
      'a@b.c\r\nBcc: x@y.z',
      'a@b.c>',
      'a@\u212a.com',
      'a,b@c.d',
      'a@b@c.d',
      'é\u0085@b.c',
    ]) {
      expect(() => compose({ ...base, to: [{ name: '', address }] })).toThrow(TypeError);
    }
    expect(() => compose({ ...base, messageId: 'a>\r\n' })).toThrow(TypeError);
    expect(() => compose({ ...base, fromDomain: 'bücher.example' })).toThrow(TypeError);
  });

  it('says that a UTF-8 local part needs SMTPUTF8, and counts its octets in the body offset', () => {
    const { bytes, bodyOffset, needsSmtpUtf8 } = compose({
      ...base,
      cc: [{ name: '', address: 'дядя@b.example' }],
    });
    expect(needsSmtpUtf8).toBe(true);
    expect(Buffer.from(bytes).toString('utf8', bodyOffset)).toBe('Hi Bob\r\n');
  });

  it('makes an inline calendar with a method a form of the text, behind the others', async () => {
    const calendar = {
      content: Buffer.from('BEGIN:VCALENDAR\r\nSUMMARY:Bücher\r\nEND:VCALENDAR\r\n'),
      type: 'text/calendar; method=REQUEST',
      filename: 'invite.ics',
      disposition: 'inline',
      contentId: null,
    } as const;
    const file = { ...calendar, disposition: 'attachment' } as const;
    const typesOf = (body: ComposeInput['body']) => {
      const mail = readMime(compose({ ...base, body, attachments: [calendar, file] }).bytes);
      return [mail.type, ...mail.parts.map(({ type, parts }) => [type, ...parts.map((one) => one.type)])];
    };
    const forms = (...types: string[]) => [
      'multipart/mixed',
      ['multipart/alternative', ...types, 'text/calendar'],
      ['text/calendar'],
    ];
    expect(typesOf({ kind: 'text', text: 'x' })).toEqual(forms('text/plain'));
    expect(typesOf({ kind: 'html', html: 'x', text: null })).toEqual(forms('text/html'));
    expect(typesOf({ kind: 'html', html: 'x', text: 'x' })).toEqual(forms('text/plain', 'text/html'));
    const text = `${Buffer.from(compose({ ...base, attachments: [calendar] }).bytes)}`;
    expect(text).toContain(
      'Content-Type: text/calendar;\r\n method=REQUEST;\r\n charset=utf-8\r\nContent-Transfer-Encoding: base64\r\n\r\n',
    );
  });

  it('sends an inline part as a plain attachment where no HTML can refer to it', () => {
    const inline = {
      content: Buffer.from('x'),
      type: 'image/png',
      filename: 'a.png',
      disposition: 'inline',
      contentId: 'a',
    } as const;
    const text = Buffer.from(compose({ ...base, attachments: [inline] }).bytes).toString();
    expect(text).toContain('multipart/mixed');
    expect(text).toContain('Content-Disposition: attachment;');
    expect(text).not.toContain('multipart/related');
  });
});
