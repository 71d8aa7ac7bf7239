/** Mail of many kinds for tests and the demonstration. */

const FROM = { name: 'Example Shop', email: 'shop@example.com' };
const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAABAAAAAQCAYAAAAf8/9hAAAAKklEQVR42mNkYPhfz0ABYBzVMKphVMOohlENoxpGNYxqGNUwqmFUA0MdAAd9CAH6Sd6sAAAAAElFTkSuQmCC';

/** A PDF of one empty page. */
export const PDF = Buffer.from(
  '%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 200]>>endobj\ntrailer<</Root 1 0 R>>\n',
).toString('base64');

const page = (body: string) =>
  `<div style="background:#f4f5f7;padding:24px;font-family:sans-serif"><div style="max-width:560px;margin:auto;background:#fff;border-radius:8px;padding:28px;color:#222">${body}</div></div>`;

export const SHOWN_MAILS = [
  {
    From: FROM,
    To: [{ name: 'Grace', email: 'grace@example.net' }],
    Subject: 'Your invoice for November',
    ContentType: 'HTML',
    HTMLContent: page('<h1>Invoice</h1><p>Thank you. The invoice is attached.</p>'),
    Attachments: [{ Content: PDF, Filename: 'invoice-2026-11.pdf', Type: 'application/pdf' }],
    Tags: ['invoice'],
  },
  {
    From: { name: 'Example Weekly', email: 'news@example.com' },
    To: [{ name: '', email: 'ada+newsletter@example.net' }],
    Subject: 'What is new this week',
    ContentType: 'HTML',
    HTMLContent: page(
      '<h1>This week</h1><img src="https://pictures.example.org/hero.jpg" width="500"><p><a href="https://example.com/read?utm_source=mail">Read on</a></p><p>Hello {{first_name}}</p>',
    ),
  },
  {
    From: FROM,
    To: [{ name: 'Ada Lovelace', email: 'ada@example.net' }],
    Subject: 'Your order 4711 is on its way',
    ContentType: 'HTML',
    HTMLContent: page(
      '<img src="cid:logo" alt="" width="48"><h1 style="margin:12px 0">On its way</h1><p>Your order leaves today. <a href="https://example.com/track/4711" style="color:#1d55d6">Follow it</a>, or look at <a href="/orders/4711">your orders</a>.</p><img src="https://pictures.example.org/map.png"><p><a href="http://localhost:3000/unsubscribe">Unsubscribe</a></p>',
    ),
    Attachments: [
      { Content: PNG, Filename: 'logo.png', Type: 'image/png', Disposition: 'inline', ContentId: 'logo' },
      { Content: PDF, Filename: 'delivery-note.pdf', Type: 'application/pdf' },
      { Content: 'YSxiCjEsMgo=', Filename: 'items.csv', Type: 'text/csv' },
    ],
    Tags: ['order', 'shipping'],
  },
  {
    From: { name: 'Example Accounts', email: 'accounts@example.com' },
    To: [{ name: 'Ada Lovelace', email: 'ada+run-17@example.net' }],
    Subject: 'Your sign-in code is 482913',
    ContentType: 'HTML',
    HTMLContent: page(
      '<h1>Sign in</h1><p>Your code is</p><p style="font-size:32px;letter-spacing:6px"><b>482913</b></p><p>It is good for ten minutes. Or <a href="https://example.com/sign-in?token=abc">sign in with one click</a>.</p>',
    ),
  },
];
