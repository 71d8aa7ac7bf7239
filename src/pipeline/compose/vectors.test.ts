/**
 * Whole messages held byte for byte against test/vectors/compose/*.eml, which were read by eye once and are
 * changed on purpose only. A missing file is written and fails once: delete, run, read the difference, commit.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { type ComposeInput, compose } from './compose.ts';
import { textFromHtml } from './text-from-html.ts';

const FOLDER = new URL('../../../test/vectors/compose/', import.meta.url);

const base: ComposeInput = {
  messageId: '0193a1b2-7c3d-7e4f-8a5b-6c7d8e9f0a1b',
  fromDomain: 'shop.example',
  dateMs: Date.UTC(2026, 10, 21, 11, 44, 0),
  from: { name: 'The Shop', address: 'orders@shop.example' },
  to: [{ name: '', address: 'bob@example.net' }],
  cc: [],
  replyTo: [],
  subject: 'Your order',
  body: { kind: 'text', text: 'Thank you.\n' },
  headers: [],
  attachments: [],
};

const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
const orderHtml =
  '<h1>Order 7</h1><p>Total: 12 €, <a href="https://shop.example/o/7?a=1&amp;b=2">see it</a>.</p>';

const vectors: Record<string, ComposeInput> = {
  'text-plain': {
    ...base,
    to: [
      { name: 'Bob', address: 'bob@example.net' },
      { name: 'Lee, Ann "AL"', address: "ann.o'hara@example.net" },
    ],
    cc: [{ name: 'J. Doe', address: 'doe@example.net' }],
    replyTo: [{ name: '', address: 'help@shop.example' }],
    headers: [
      ['X-Mailer', 'Shop 1.0'],
      ['List-Unsubscribe', '<https://shop.example/u/1>, <mailto:u@shop.example>'],
    ],
    body: {
      kind: 'text',
      text: 'Dear Bob,\r\rFrom here on:\n.\n..two dots\ntrailing blank \ntab\t\n= 100 % =\na lone\rreturn\0null',
    },
  },
  japanese: {
    ...base,
    from: { name: '株式会社ショップ・お客様サポート窓口', address: 'orders@shop.example' },
    to: [{ name: '山田 太郎', address: 'taro@xn--r8jz45g.xn--zckzah' }],
    subject: 'ご注文ありがとうございます。商品の発送が完了いたしましたのでお知らせいたします',
    body: {
      kind: 'html',
      html: '<p>山田様</p><p>ご注文を承りました。</p>',
      text: '山田様\n\nご注文を承りました。\n',
    },
  },
  arabic: {
    ...base,
    from: { name: 'المتجر', address: 'orders@shop.example' },
    subject: 'تأكيد الطلب رقم 7',
    body: { kind: 'text', text: 'مرحبا بك،\nشكرا لطلبك.\n' },
  },
  emoji: {
    ...base,
    from: { name: 'Zoë 🚀', address: 'orders@shop.example' },
    subject: `Party 🎉${'👩‍👩‍👧‍👦'.repeat(6)} tonight`,
    body: {
      kind: 'html',
      html: '<p>See you 🎉 at the café</p>',
      text: textFromHtml('<p>See you 🎉 at the café</p>'),
    },
  },
  'long-subject': {
    ...base,
    subject: `A subject ${'that goes on and on '.repeat(8)}until https://shop.example/${'x'.repeat(120)} ends it`,
    headers: [
      [
        'References',
        Array.from({ length: 4 }, (_, i) => `<${'r'.repeat(30)}${i}@mail.shop.example>`).join(' '),
      ],
      ['X-Token', 't'.repeat(995)],
      ['X-Note', 'Überraschung für alle, die bis hierher gelesen haben und noch weiter lesen'],
    ],
  },
  'inline-image': {
    ...base,
    body: {
      kind: 'html',
      html: `${orderHtml}<img src="cid:logo@1" alt="Logo">`,
      text: textFromHtml(orderHtml),
    },
    attachments: [
      { content: png, type: 'image/png', filename: 'logo.png', disposition: 'inline', contentId: 'logo@1' },
      {
        content: Buffer.from('a,b\r\n1,2\r\n'),
        type: 'text/csv; header=present',
        filename: 'order.csv',
        disposition: 'attachment',
        contentId: null,
      },
    ],
  },
  'awkward-file-names': {
    ...base,
    attachments: [
      'Résumé 2026.pdf',
      '見積書（最終版）二〇二六年十一月二十一日作成・株式会社ショップ御中.xlsx',
      'a "quoted" \\ name.txt',
      `${'long-'.repeat(24)}name.tar.gz`,
      'no extension',
      'line\r\nbreak.html',
      '🎉.ics',
      '100% *really*; name=x.zip',
      'message.eml',
    ].map((filename) => ({
      content: Buffer.from(filename),
      type: filename === 'message.eml' ? 'message/rfc822' : '',
      filename,
      disposition: 'attachment' as const,
      contentId: null,
    })),
  },
  'utf8-local-part': {
    ...base,
    to: [{ name: 'Чебурашка', address: 'чебурашка@xn--h1ae7bxa.xn--p1ai' }],
  },
  'html-only': { ...base, body: { kind: 'html', html: orderHtml, text: null } },
};

describe('compose vectors', () => {
  it.each(Object.entries(vectors))('writes %s as it was approved', (name, input) => {
    const { bytes, needsSmtpUtf8 } = compose(input);
    const file = new URL(`${name}.eml`, FOLDER);
    if (!existsSync(file)) {
      writeFileSync(file, bytes);
      expect.fail(`${name}.eml was missing and has been written: read it before it is committed`);
    }
    expect(Buffer.from(bytes).toString('utf8')).toBe(readFileSync(file, 'utf8'));
    expect(needsSmtpUtf8).toBe(name === 'utf8-local-part');
  });
});
