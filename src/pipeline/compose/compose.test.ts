import PostalMime from 'postal-mime';
import { describe, expect, it } from 'vitest';
import { type ComposeInput, compose } from './compose.ts';

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
});
