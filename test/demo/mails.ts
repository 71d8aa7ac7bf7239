/** What the shop, the newsletter and the club write. */
import { SHOWN_MAILS } from '../browser/mails.ts';

interface Person {
  name: string;
  email: string;
}

export const FIRST_NAMES = [
  ...[
    'Ada',
    'Grace',
    'Alan',
    'Barbara',
    'Edsger',
    'Frances',
    'Hedy',
    'Ivan',
    'Jean',
    'Katherine',
    'Linus',
    'Margaret',
  ],
  ...['Niklaus', 'Olga', 'Radia', 'Sophie', 'Tim', 'Ursula', 'Yukihiro', 'Zoë', 'Åsa', 'Émilie'],
];
export const LAST_NAMES = [
  ...[
    'Almeida',
    'Brandt',
    'Castillo',
    'Dubois',
    'Eriksson',
    'Fischer',
    'Grabowska',
    'Haddad',
    'Ivanova',
    'Jensen',
    'Kim',
  ],
  ...[
    'Lindqvist',
    'Moreau',
    'Nakamura',
    'Okafor',
    'Petrov',
    'Quinn',
    'Rossi',
    'Schneider',
    'Tanaka',
    'Virtanen',
    'Weiß',
  ],
];
const PRODUCTS = [
  'Espresso cups, set of four',
  'Desk lamp',
  'Linen shirt',
  'Garden hose, 20 m',
  'Notebook, dotted',
];

export const page = (title: string, body: string) =>
  `<!doctype html><html lang="en"><body style="margin:0;background:#f4f5f7;font-family:sans-serif"><div style="max-width:560px;margin:0 auto;padding:28px;background:#fff;color:#222"><h1 style="font-size:22px">${title}</h1>${body}</div></body></html>`;

export function receipt(to: Person, order: number): object {
  const product = PRODUCTS[order % PRODUCTS.length] ?? '';
  return {
    From: { name: 'Acme Shop', email: 'orders@acme.example' },
    To: [to],
    Subject: `Your order ${order}`,
    ContentType: 'HTML',
    HTMLContent: page(
      'Thank you',
      `<p>We have your order ${order}: ${product}.</p><p><a href="https://acme.example/orders/${order}">See your order</a></p>`,
    ),
    Tags: ['receipt'],
    Metadata: { order: String(order) },
  };
}

export function codeMail(to: Person, number: number): object {
  return {
    From: { name: 'Acme Accounts', email: 'accounts@acme.example' },
    To: [to],
    Subject: `${number + 100_000} is your sign-in code`,
    ContentType: 'Text',
    PlainContent: `Your code is ${number + 100_000}. It is valid for ten minutes.\n`,
    Tags: ['sign-in'],
    Priority: 'critical',
  };
}

export function invitation(to: Person, number: number): object {
  return {
    From: { name: 'Rowing Club', email: 'office@club.example' },
    To: [to],
    Subject: `Regatta: heat ${number % 12}, boat ${number % 7}`,
    ContentType: 'Text',
    PlainContent: `Dear ${to.name},\n\nyou row in boat ${number % 7}. Be at the pier half an hour before the start.\n\nThe club\n`,
    Tags: ['regatta'],
  };
}

export function newsletter(to: Person, issue: number): object {
  return {
    From: { name: 'Acme Weekly', email: 'hello@news.acme.example' },
    To: [to],
    Subject: `Acme Weekly, issue ${issue}`,
    ContentType: 'HTML',
    HTMLContent: page(
      `Issue ${issue}`,
      `<p>Hello ${to.name},</p><p>three things for the week:</p><ul><li><a href="https://acme.example/weekly/${issue}/lamp">A lamp that remembers</a></li><li><a href="https://acme.example/weekly/${issue}/cups">Cups for four</a></li><li><a href="https://acme.example/weekly/${issue}/sale">The autumn sale</a></li></ul>`,
    ),
    Tags: ['weekly'],
    Priority: 'bulk',
  };
}

/** Captured instead of sent: for the inbox. */
export const SANDBOX_MAILS = SHOWN_MAILS.map((mail) => ({
  ...mail,
  From: { ...mail.From, email: mail.From.email.replace('example.com', 'acme.example') },
}));
