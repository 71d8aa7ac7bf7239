/** Templates of the demonstration: mails that the shop and its newsletter send, with gaps. */
import { page } from './mails.ts';

/** An order with its lines, which it repeats. */
export const ORDER = {
  Name: 'order-shipped',
  Domain: 'acme.example',
  Subject: 'Your order {{number}} is on its way',
  HTMLContent: `<!doctype html>
<html lang="en">
<head>
  <meta name="color-scheme" content="light dark">
  <style>
    body { margin: 0; background: #f3f5f8; font: 16px/1.5 Arial, sans-serif; color: #16191f; }
    .card { max-width: 560px; margin: 24px auto; padding: 24px 32px; background: #fff; border-radius: 8px; }
    h1 { margin: 0 0 16px; font-size: 24px; }
    td { padding: 8px 0; border-bottom: 1px solid #e1e5ea; }
    td:last-child { text-align: right; }
    .button { display: inline-block; margin-top: 24px; padding: 12px 20px; border-radius: 6px; background: #1d55d6; color: #fff; text-decoration: none; }
    @media (prefers-color-scheme: dark) {
      body { background: #0e1116; color: #e8ebf0; }
      .card { background: #1c212a; }
      td { border-color: #2a303b; }
    }
  </style>
</head>
<body>
  <div class="card">
    <h1>Thank you, {{customer.name | default: "dear customer"}}!</h1>
    <p>Order {{number}} left our warehouse today.</p>
    <table role="presentation" width="100%" cellspacing="0">
      {{#items}}
      <tr><td>{{count}} × {{title}}</td><td>{{price}}</td></tr>
      {{/items}}
      {{^items}}
      <tr><td>Nothing was ordered.</td><td></td></tr>
      {{/items}}
    </table>
    <p>Total: <strong>{{total}}</strong></p>
    <a class="button" href="https://acme.example/orders/{{number}}?t={{token}}">Follow the parcel</a>
  </div>
</body>
</html>
`,
  PlainContent: `Thank you, {{customer.name | default: "dear customer"}}!

Order {{number}} left our warehouse today.
{{#items}}
- {{count}} x {{title}}: {{price}}
{{/items}}
Total: {{total}}
`,
};

export const ORDER_SAMPLE = {
  number: 'A-20417',
  customer: { name: 'Ada' },
  items: [
    { count: 1, title: 'A lamp that remembers', price: '49.00 €' },
    { count: 4, title: 'Cup, blue', price: '36.00 €' },
  ],
  total: '85.00 €',
  token: 'f3a9',
};

/** The same before somebody improved it. */
export const FIRST_ORDER = {
  ...ORDER,
  Subject: 'Order {{number}}',
  HTMLContent: ORDER.HTMLContent.replace('Thank you, ', 'Hello ')
    .replace(/ *\{\{\^items[^/]*\{\{\/items\}\}\n/, '')
    .replace('#1d55d6', '#0d6b37'),
};

export const TEMPLATES = [
  {
    Domain: 'acme.example',
    Name: 'password-reset',
    Subject: 'Reset your password, {{name}}',
    HTMLContent: page(
      'A new password',
      '<p>Hello {{name}},</p><p><a href="{{link}}">Choose a new password</a>. The link works for an hour.</p>',
    ),
    PlainContent: 'Hello {{name}},\n\nchoose a new password: {{link}}\n',
  },
  FIRST_ORDER,
  {
    Domain: 'news.acme.example',
    Name: 'weekly',
    Subject: 'Acme Weekly, issue {{issue}}',
    HTMLContent: page(
      'Issue {{issue}}',
      '<p>Hello {{name | default: "reader"}},</p><ul>{{#articles}}<li><a href="{{link}}">{{title}}</a></li>{{/articles}}</ul>',
    ),
  },
  {
    Domain: 'club.example',
    Name: 'invitation',
    Subject: '{{name}}, you are invited',
    PlainContent: 'Hello {{name}},\n\nwe meet on {{date}} at {{place}}.\n\nThe club\n',
  },
];
