/**
 * SMTP submission through the real listener of a real server, line by line: who gets in, what is refused and how, what
 * the X-Postrider- fields do, certificates, limits, the end. The client shares no code with the product.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { type LineClient, openLineClient } from '../fakes/smtp-line-client.ts';
import { createTestCa } from '../fakes/test-certificates.ts';
import { fileScope, type Instance, startInstance, temporaryFolder, until } from '../scenarios/harness.ts';

const scope = fileScope();
let server: Instance;
let token: string;
let port: number;

const MESSAGE = 'From: Shop <shop@example.com>\r\nTo: b@example.net\r\nSubject: Hi\r\n\r\nHello\r\n';

async function makeToken(more: Record<string, unknown> = {}): Promise<string> {
  const body = { Name: 'smtp', Domains: ['example.com'], Preset: 'Send', ...more };
  return (await server.call('POST', '/tokens', { body })).json.Token;
}

async function connected(at = port): Promise<LineClient> {
  const client = await openLineClient(at);
  scope.defer(() => client.close());
  expect(await client.reply()).toMatch(/^220 mail\.postrider\.test ESMTP/);
  return client;
}

async function loggedIn(password = token): Promise<LineClient> {
  const client = await connected();
  await client.hello();
  expect(await client.login('token', password)).toMatch(/^235 2\.7\.0 /);
  return client;
}

function send(
  client: LineClient,
  data: string | Buffer,
  more: { from?: string; to?: string[]; mail?: string } = {},
) {
  return client.transact({ from: 'shop@example.com', to: ['b@example.net'], data, ...more });
}

/** The MessageID of a positive reply. */
function queuedId(reply: string): string {
  const id = /^250 2\.6\.0 Queued as ([0-9a-f-]{36})$/.exec(reply)?.[1];
  if (id === undefined) throw new Error(`Not accepted: ${reply}`);
  return id;
}

async function captured(messageId: string): Promise<string> {
  await server.settled(messageId);
  const list = (await server.call('GET', '/sandbox/messages?Limit=100')).json.Items as {
    ID: string;
    MessageID: string;
  }[];
  const id = list.find((item) => item.MessageID === messageId)?.ID;
  return (await server.call('GET', `/sandbox/messages/${id}/raw`)).bytes.toString('latin1');
}

beforeAll(async () => {
  server = await startInstance(scope, {
    settings: { submission: '127.0.0.1:0', 'submission-tls': '127.0.0.1:0', 'max-message-bytes': '1048576' },
  });
  port = server.server.submission.plain?.port ?? 0;
  for (const name of ['example.com', 'example.org']) {
    await server.call('POST', '/domains', { body: { Domain: name, Verified: true } });
  }
  await server.call('POST', '/domains', { body: { Domain: 'pending.example' } });
  token = await makeToken();
});

describe('submission', () => {
  it('takes a message over STARTTLS with a token as password, and names its MessageID', async () => {
    const client = await loggedIn();
    const id = queuedId(await send(client, MESSAGE, { to: ['b@example.net', 'hidden@example.org'] }));
    const facts = await server.settled(id);
    expect(facts.Recipients.map(({ Email }) => Email).sort()).toEqual([
      'b@example.net',
      'hidden@example.org',
    ]);
    const detail = (await server.call('GET', `/email/${id}`)).json;
    expect(detail).toMatchObject({ Subject: 'Hi', From: { Name: 'Shop', Email: 'shop@example.com' } });
    expect(detail.Recipients.map(({ Type }: { Type: string }) => Type).sort()).toEqual(['BCC', 'To']);
    const raw = await captured(id);
    expect(raw).toMatch(
      /^Received: from client\.test \(\[127\.0\.0\.1\]\)\r\n\tby mail\.postrider\.test \(Postrider\)\r\n\twith ESMTPSA id [0-9a-f-]{36};\r\n\t/m,
    );
    expect(raw).toMatch(/^Date: /m);
    expect(raw).toContain(`Message-ID: <${id}@example.com>\r\n`);
    expect(raw).not.toContain('hidden@example.org');
    expect(raw.endsWith(MESSAGE)).toBe(true);
    expect(await client.ask('QUIT')).toMatch(/^221 2\.0\.0 /);
    await client.closed();
  });

  it('takes a message on the port that begins with TLS', async () => {
    const client = await openLineClient(server.server.submission.tls?.port ?? 0, { tls: true });
    scope.defer(() => client.close());
    await client.reply();
    expect(await client.ask('EHLO client.test')).not.toContain('STARTTLS');
    expect(await client.login('anything', token)).toMatch(/^235 /);
    queuedId(await send(client, MESSAGE));
  });

  it('takes LOGIN too, and several messages on one connection', async () => {
    const client = await connected();
    await client.hello();
    expect(await client.ask('AUTH LOGIN')).toBe('334 VXNlcm5hbWU6');
    expect(await client.ask(Buffer.from('token').toString('base64'))).toBe('334 UGFzc3dvcmQ6');
    expect(await client.ask(Buffer.from(token).toString('base64'))).toMatch(/^235 /);
    const ids = [];
    for (let i = 0; i < 5; i += 1) ids.push(queuedId(await send(client, MESSAGE)));
    expect(new Set(ids).size).toBe(5);
  });

  it('takes the null sender where the header names the caller’s domain', async () => {
    queuedId(await send(await loggedIn(), MESSAGE, { from: '' }));
  });
});

describe('nobody', () => {
  it('logs in, or is even asked to, in the clear', async () => {
    const client = await connected();
    const hello = await client.ask('EHLO client.test');
    expect(hello).toContain('STARTTLS');
    expect(hello).not.toContain('AUTH');
    expect(await client.login('token', token)).toMatch(/^538 5\.7\.11 /);
  });

  it('sends without a login, to whatever address and from whatever one', async () => {
    const client = await connected();
    await client.hello();
    for (const from of ['shop@example.com', '', 'root@localhost.localdomain', 'a@example.net']) {
      expect(await client.ask(`MAIL FROM:<${from}>`)).toMatch(/^530 5\.7\.0 /);
    }
    expect(await client.ask('RCPT TO:<b@example.net>')).toMatch(/^503 5\.5\.1 /);
    expect(await client.ask('DATA')).toMatch(/^503 5\.5\.1 /);
  });

  it('is relayed for by an address trick', async () => {
    const client = await loggedIn();
    for (const [to, expected] of [
      ['b%example.org@[127.0.0.1]', /^553 5\.1\.3 /],
      ['example.org!b', /^553 5\.1\.3 /],
      ['"b@example.org"', /^553 5\.1\.3 /],
      ['b@example.org@mail.postrider.test', /^553 5\.1\.3 /],
      ['postmaster', /^550 5\.1\.3 /],
      ['b@127.0.0.1', /^553 5\.1\.3 /],
      ['', /^501 5\.5\.4 /],
    ] as const) {
      await client.ask('MAIL FROM:<shop@example.com>');
      expect(await client.ask(`RCPT TO:<${to}>`)).toMatch(expected);
      await client.ask('RSET');
    }
  });

  it('sends as somebody else, in the envelope or in the header', async () => {
    const client = await loggedIn();
    const refused = /^550 5\.7\.1 /;
    for (const from of [
      'a@example.org',
      'a@evil-example.com',
      'a@example.com.evil.net',
      'a@sub.example.com',
    ]) {
      expect(await send(client, MESSAGE, { from })).toMatch(refused);
      expect(await send(client, MESSAGE.replace('shop@example.com', from))).toMatch(refused);
      expect(await send(client, MESSAGE.replace('shop@example.com', from), { from: '' })).toMatch(refused);
    }
    expect(await send(client, MESSAGE, { from: 'a@pending.example' })).toMatch(refused);
  });

  it('hides a second author from the check', async () => {
    const client = await loggedIn();
    const evil = 'ceo@example.org';
    for (const header of [
      `From: shop@example.com\r\nFrom: ${evil}`,
      `From: ${evil}\r\nFrom: shop@example.com`,
      `From: shop@example.com, ${evil}`,
      `from : ${evil}\r\nFrom: shop@example.com`,
      `From: "shop@example.com" <${evil}`,
      `From: shop@example.com <${evil}> <shop@example.com>`,
      'From:',
      'Subject: none',
      'From: undisclosed:;',
      `From: =?utf-8?q?shop=40example=2Ecom?=`,
      `From: shop@example.com <${evil}>`,
      `From: (shop@example.com) ${evil}`,
    ]) {
      expect(await send(client, `${header}\r\nTo: b@example.net\r\n\r\nx\r\n`)).toMatch(/^550 5\.6\.0 /);
    }
    for (const header of [`From: "shop@example.com" <${evil}>`, `From:\r\n ${evil}`]) {
      expect(await send(client, `${header}\r\n\r\nx\r\n`)).toMatch(/^550 5\.7\.1 /);
    }
  });

  it('gets in with a wrong, revoked or unfit token', async () => {
    const revoked = (
      await server.call('POST', '/tokens', { body: { Name: 'r', Domains: ['example.com'], Preset: 'Send' } })
    ).json;
    await server.call('DELETE', `/tokens/${revoked.TokenID}`);
    const reader = await makeToken({ Preset: undefined, Scopes: ['email:read'] });
    const elsewhere = await makeToken({ IPAllowList: ['192.0.2.0/24'] });
    for (const [password, expected] of [
      [`${token.slice(0, -4)}AAAA`, /^535 5\.7\.8 /],
      [revoked.Token, /^535 5\.7\.8 The token [-0-9a-f]{36} was revoked at /],
      [reader, /^535 5\.7\.13 /],
      [elsewhere, /^535 5\.7\.13 The token may not be used from 127\.0\.0\.1/],
      ['secret', /^535 5\.7\.8 Username or password is wrong/],
    ] as const) {
      const client = await connected();
      await client.hello();
      expect(await client.login('token', password)).toMatch(expected);
      expect(await client.ask('MAIL FROM:<shop@example.com>')).toMatch(/^530 /);
      client.close();
    }
  });

  it('slips commands in before the handshake', async () => {
    const client = await connected();
    await client.ask('EHLO client.test');
    client.send('STARTTLS\r\nEHLO evil.test\r\nMAIL FROM:<shop@example.com>\r\n');
    expect(await client.reply()).toMatch(/^503 5\.5\.1 /);
    expect(await client.reply()).toBe('');
  });

  it('smuggles a second message past the end of the first', async () => {
    const client = await loggedIn();
    const before = (await server.call('GET', '/email?From=evil@example.com')).json.Items.length;
    for (const trick of [
      '\n.\n',
      '\n.\r\n',
      '\r\n.\n',
      '\r.\r',
      '\r.\r\n',
      '\r\n.\r',
      '\n\n.\r\n',
      '\r\n\0.\r\n',
    ]) {
      await client.ask('MAIL FROM:<shop@example.com>');
      await client.ask('RCPT TO:<b@example.net>');
      await client.ask('DATA');
      client.send(
        `${MESSAGE}x${trick}MAIL FROM:<evil@example.com>\r\nRCPT TO:<c@example.net>\r\nDATA\r\nFrom: evil@example.com\r\n\r\nx\r\n.\r\n`,
      );
      // A true CRLF.CRLF may be part of the trick: then the rest are commands, of a client that may send them anyway.
      expect(await client.reply()).toMatch(/^554 5\.6\.0 /);
      client.send('NOOP marker\r\n');
      let answer = await client.reply();
      while (!answer.startsWith('250 2.0.0')) answer = await client.reply();
      await client.ask('RSET');
    }
    const after = (await server.call('GET', '/email?From=evil@example.com')).json.Items.length;
    expect(after).toBe(before);
  });
});

describe('an SMTP credential', () => {
  it('sends for its domain until it is removed', async () => {
    const made = (
      await server.call('POST', '/smtp-credentials', { body: { Domain: 'example.com', Name: 'Shop' } })
    ).json;
    const list = (await server.call('GET', '/smtp-credentials')).json.Items;
    expect(list).toMatchObject([
      { CredentialID: made.CredentialID, Username: made.Username, Domain: 'example.com' },
    ]);
    expect(JSON.stringify(list)).not.toContain(made.Password);
    const client = await connected();
    await client.hello();
    expect(await client.login(made.Username, made.Password)).toMatch(/^235 /);
    queuedId(await send(client, MESSAGE));
    expect(await send(client, MESSAGE, { from: 'a@example.org' })).toMatch(/^550 5\.7\.1 /);
    expect((await server.call('DELETE', `/smtp-credentials/${made.CredentialID}`)).status).toBe(200);
    expect((await server.call('DELETE', `/smtp-credentials/${made.CredentialID}`)).status).toBe(404);
    const later = await connected();
    await later.hello();
    expect(await later.login(made.Username, made.Password)).toMatch(/^535 5\.7\.8 /);
  });
});

describe('To and Cc', () => {
  it('say who is shown there, also beside an address that cannot be read', async () => {
    const data =
      'From: shop@example.com\r\nTo: "x y"@example.net, B <b@example.net>\r\nCc: nobody, c@example.net\r\n\r\nx\r\n';
    const to = ['b@example.net', 'c@example.net', 'hidden@example.org'];
    const id = queuedId(await send(await loggedIn(), data, { to }));
    const { Recipients } = (await server.call('GET', `/email/${id}`)).json;
    expect(Recipients).toMatchObject([
      { Email: 'b@example.net', Type: 'To' },
      { Email: 'c@example.net', Type: 'CC' },
      { Email: 'hidden@example.org', Type: 'BCC' },
    ]);
  });
});

describe('the X-Postrider- fields', () => {
  it('mean what their JSON twins mean, and do not travel', async () => {
    const client = await loggedIn();
    const own =
      'X-Postrider-Tag: receipt\r\nX-Postrider-Tag: =?utf-8?q?caf=C3=A9?=\r\nX-Postrider-Metadata: {"order":\r\n "77"}\r\n' +
      'X-Postrider-Priority: Critical\r\nX-Postrider-Sandbox: true\r\nX-Postrider-Ref: x\r\nBcc: hidden@example.org\r\n';
    const id = queuedId(await send(client, own + MESSAGE));
    const detail = (await server.call('GET', `/email/${id}`)).json;
    expect(detail).toMatchObject({ Tags: ['receipt', 'café'], Metadata: { order: '77' }, Sandbox: true });
    const raw = await captured(id);
    expect(raw.replace(/^X-Postrider-Ref: .*$/m, '')).not.toMatch(/^(X-Postrider|Bcc)/im);
    expect(raw.endsWith(MESSAGE)).toBe(true);
  });

  it('send it later, with a Date of ours where it brought none', async () => {
    const client = await loggedIn();
    const at = Math.floor(Date.now() / 1000) + 3600;
    const later = `X-Postrider-Send-At: ${at}\r\nX-Postrider-Expires-At: ${at + 60}\r\n`;
    const id = queuedId(await send(client, later + MESSAGE.replace(/^Date:.*\r\n/m, '')));
    const iso = (seconds: number) => new Date(seconds * 1000).toISOString();
    expect((await server.call('GET', `/email/${id}`)).json).toMatchObject({
      Status: 'Scheduled',
      SendAt: iso(at),
      ExpiresAt: iso(at + 60),
    });
    const dates = async () =>
      [...(await server.call('GET', `/email/${id}/raw`)).text.matchAll(/^Date: (.*)$/gm)].map(
        ([, text = '']) => Date.parse(text),
      );
    expect(await dates()).toEqual([at * 1000]);
    const SendAt = at - 60;
    expect((await server.call('PATCH', `/email/${id}`, { body: { SendAt } })).status).toBe(200);
    expect(await dates()).toEqual([SendAt * 1000]);
    await server.call('POST', `/email/${id}/cancel`);
  });

  it('send it later with an unsubscribe pair on top, and the Date is found again when it moves', async () => {
    const client = await loggedIn();
    const at = Math.floor(Date.now() / 1000) + 3600;
    const fields = `X-Postrider-Send-At: ${at}\r\nX-Postrider-List-Unsubscribe: true\r\nX-Postrider-Track: opens\r\n`;
    const html =
      'From: <shop@example.com>\r\nSubject: Later\r\nContent-Type: text/html\r\n\r\n<p>Hello</p>\r\n';
    const id = queuedId(await send(client, fields + html));
    const raw = async () => (await server.call('GET', `/email/${id}/raw`)).text;
    const before = await raw();
    expect(before).toMatch(/^List-Unsubscribe: /m);
    expect([...before.matchAll(/^Date: (.*)$/gm)].map(([, text = '']) => Date.parse(text))).toEqual([
      at * 1000,
    ]);
    const SendAt = at + 86_400;
    expect((await server.call('PATCH', `/email/${id}`, { body: { SendAt } })).status).toBe(200);
    const after = await raw();
    const date = /^Date: .*$/m;
    expect(Date.parse(/^Date: (.*)$/m.exec(after)?.[1] ?? '')).toBe(SendAt * 1000);
    expect(after.replace(date, '')).toBe(before.replace(date, ''));
    await server.call('POST', `/email/${id}/cancel`);
  });

  it('make a repeated message one', async () => {
    const client = await loggedIn();
    const data = `X-Postrider-Idempotency-Key: order-77\r\n${MESSAGE}`;
    const first = queuedId(await send(client, data));
    expect(queuedId(await send(client, data))).toBe(first);
    expect(await send(client, `${data}more\r\n`)).toMatch(/^550 5\.6\.0 /);
  });

  it('put tokens into the HTML and the unsubscribe pair on top, and leave the rest alone', async () => {
    const fields = 'X-Postrider-Track: clicks\r\nX-Postrider-List-Unsubscribe: true\r\n';
    const head = 'From: sender@example.com\r\nTo: reader@example.net\r\nSubject:  odd \r\n';
    const type = 'Content-Type: text/html; charset=utf-8\r\n';
    const data = `${fields}${head}${type}\r\n<a href="https://x.example/">x</a>\r\n`;
    const raw = await captured(queuedId(await send(await loggedIn(), data)));
    expect(raw).toContain(head);
    expect(raw).toMatch(/^List-Unsubscribe: <http:\/\/[^>]+\/u\/[0-9a-z]{32}>/m);
    expect(raw).toContain('\r\nList-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n');
    expect(raw.replaceAll('=\r\n', '')).toMatch(/<a href=3D"http:\/\/[^"]+\/c\/[0-9a-z]{32}\/[\w-]+">x<\/a>/);
    expect(raw).not.toMatch(/\/[uc]\/0{32}/);
  });

  it.each([
    ['Send-At: 2001-01-01T00:00:00Z', /in the past/],
    ['Send-At: tomorrow', /ISO 8601/],
    ['Expires-At: 2001-01-01T00:00:00Z', /later than now/],
    ['Track: everything', /opens, clicks, both/],
    ['List-Unsubscribe: perhaps', /true or false/],
    ['Priority: urgent', /critical, normal or bulk/],
    ['Sandbox: maybe', /Sandbox/],
    ['Metadata: {"a":1}', /string of at most/],
    ['Metadata: nonsense', /not JSON/],
    ['Tag:', /1 to 128/],
    ['Idempotency-Key: a b', /visible ASCII/],
    ['Priority: bulk\r\nX-Postrider-Priority: bulk', /given twice/],
    ['Send-Att: 2030-01-01T00:00:00Z', /did you mean Send-At/],
  ])('are refused where they cannot be honoured: %s', async (field, expected) => {
    const answer = await send(await loggedIn(), `X-Postrider-${field}\r\n${MESSAGE}`);
    expect(answer).toMatch(/^550[ -]5\.6\.0 /);
    expect(answer).toMatch(expected);
  });
});

describe('a message', () => {
  it('over the quota of its domain is put off, and nothing of it is kept', async () => {
    await server.call('POST', '/domains', { body: { Domain: 'quota.example', Verified: true } });
    await server.call('PATCH', '/domains/quota.example', { body: { Quota: { PerDay: 3 } } });
    const client = await loggedIn(await makeToken({ Domains: ['quota.example', 'example.com'] }));
    const from = 'shop@quota.example';
    const data = MESSAGE.replace('shop@example.com', from);
    queuedId(await send(client, data, { from, to: ['b@example.net', 'c@example.net'] }));
    const listed = async () => (await server.call('GET', '/email?Domain=quota.example')).json.Items.length;
    expect(await listed()).toBe(1);
    const refused = await send(client, data, { from, to: ['d@example.net', 'e@example.net'] });
    expect(refused).toMatch(/^452 4\.7\.1 .*quota\.example/);
    expect(await listed()).toBe(1);
    // What is left can be used, and other domains are not concerned.
    queuedId(await send(client, data, { from, to: ['f@example.net'] }));
    expect(await send(client, data, { from })).toMatch(/^452 4\.7\.1 /);
    queuedId(await send(client, MESSAGE));
  });

  it('that goes in circles is refused', async () => {
    const trace = 'Received: from a by b; Sat, 21 Nov 2026 11:44:00 +0000\r\n';
    const client = await loggedIn();
    queuedId(await send(client, trace.repeat(100) + MESSAGE));
    expect(await send(client, trace.repeat(101) + MESSAGE)).toMatch(/^554 5\.4\.6 /);
  });

  it.each([
    ['a line of 999 octets', `${MESSAGE}${'x'.repeat(999)}\r\n`, /^554 5\.6\.0 /],
    ['a NUL', `${MESSAGE}\0\r\n`, /^554 5\.6\.0 /],
    ['a header line without a colon', `nonsense\r\n${MESSAGE}`, /^550 5\.6\.0 /],
    [
      'a blank before a colon',
      `Date : Sat, 21 Nov 2026 11:44:00 +0000\r\n${MESSAGE}`,
      /^550 5\.6\.0 .*line 1 /,
    ],
    ['a tab before a colon', MESSAGE.replace('Subject:', 'X-Any\t: x\r\nSubject:'), /^550 5\.6\.0 .*line 3 /],
    ['a header that begins with a blank', ` folded: x\r\n${MESSAGE}`, /^550 5\.6\.0 /],
    ['nothing in it', '', /^550 5\.6\.0 /],
    ['more octets than allowed', MESSAGE + 'x'.repeat(70).concat('\r\n').repeat(15_000), /^552 5\.3\.4 /],
  ])('with %s is refused', async (_, data, expected) => {
    const client = await loggedIn();
    expect(await send(client, data)).toMatch(expected);
    queuedId(await send(client, MESSAGE));
  });

  it.each([
    'Date: Sat, 21 Nov 2026 11:44:00 +0000',
    'From: shop@example.com',
    'Sender: shop@example.com',
    'Reply-To: shop@example.com',
    'To: b@example.net',
    'Cc: b@example.net',
    'Message-ID: <a@example.com>',
    'IN-REPLY-TO: <a@example.net>',
    'References: <a@example.net>',
    'Subject: Hi',
  ])('with a second field is refused, and told which: %s', async (field) => {
    const client = await loggedIn();
    const name = field.slice(0, field.indexOf(':'));
    const rest = MESSAGE.replace(new RegExp(`^${name}:.*\\r\\n`, 'im'), '');
    const refused = await send(client, `${field}\r\nComments: x\r\n${name.toLowerCase()}:\r\n${rest}`);
    expect(refused).toMatch(/^550 5\.6\.0 The message has more than one /);
    expect(refused.toLowerCase()).toContain(`more than one ${name.toLowerCase()} field`);
    if (name !== 'From') queuedId(await send(client, `${field}\r\nComments: x\r\nComments: y\r\n${rest}`));
    client.close();
  });

  it('gets a Date and a Message-ID in place of empty ones', async () => {
    const id = queuedId(await send(await loggedIn(), `Date:\r\n  \r\nMESSAGE-ID: \r\n${MESSAGE}`));
    const [header = ''] = (await captured(id)).split('\r\n\r\n');
    expect(header.match(/^date:.*$/gim)).toEqual([expect.stringMatching(/^Date: \w{3}, \d\d? /)]);
    expect(header.match(/^message-id:.*$/gim)).toEqual([`Message-ID: <${id}@example.com>`]);
    expect(header).toContain(MESSAGE.slice(0, MESSAGE.indexOf('\r\n\r\n')));
  });

  it('that announces too many octets is refused before it is sent', async () => {
    const client = await loggedIn();
    expect(await client.ask('MAIL FROM:<shop@example.com> SIZE=1048577')).toMatch(/^552 5\.3\.4 /);
  });

  it('may have a hundred recipients, the others in another transaction', async () => {
    const client = await loggedIn();
    await client.ask('MAIL FROM:<shop@example.com>');
    for (let i = 0; i < 100; i += 1)
      expect(await client.ask(`RCPT TO:<b${i}@example.net>`)).toMatch(/^250 2\.1\.5 /);
    expect(await client.ask('RCPT TO:<b100@example.net>')).toMatch(/^452 4\.5\.3 /);
    expect(await client.ask('DATA')).toMatch(/^354 /);
    client.send(`${MESSAGE}.\r\n`);
    const id = queuedId(await client.reply());
    expect((await server.call('GET', `/email/${id}`)).json.Recipients).toHaveLength(100);
  });

  it('to the same recipient twice is one copy', async () => {
    const client = await loggedIn();
    const id = queuedId(await send(client, MESSAGE, { to: ['b@example.net', 'b@EXAMPLE.net'] }));
    expect((await server.call('GET', `/email/${id}`)).json.Recipients).toHaveLength(1);
  });
});

describe('the listener', () => {
  it('holds a login to its rate, over SMTP and HTTP together', async () => {
    const slow = await makeToken({ RateLimit: 0.01 });
    const client = await loggedIn(slow);
    queuedId(await send(client, MESSAGE));
    expect(await send(client, MESSAGE)).toMatch(/^450 4\.7\.1 /);
    const body = {
      From: { email: 'shop@example.com' },
      To: [{ email: 'b@example.net' }],
      Subject: 'x',
      ContentType: 'Text',
      PlainContent: 'x',
    };
    expect((await server.call('POST', '/email', { body, token: slow })).status).toBe(429);
  });

  it('closes the connection after the third wrong login, and pauses an address that guesses on', async () => {
    const own = await startInstance(scope, { settings: { submission: '127.0.0.1:0' } });
    const at = own.server.submission.plain?.port ?? 0;
    const seen: string[] = [];
    for (let i = 0; i < 5; i += 1) {
      const client = await openLineClient(at);
      await client.reply();
      await client.hello();
      for (let n = 0; n < 4; n += 1) {
        const answer = await client.login('someone', `wrong ${i}${n}`);
        if (answer === '') break;
        seen.push(answer.slice(0, 9));
        if (answer.startsWith('421')) expect(answer).toMatch(/; try again in (?:300|2\d\d) seconds/);
      }
      client.close();
    }
    expect(seen.slice(0, 10)).toEqual(Array.from({ length: 10 }, () => '535 5.7.8'));
    expect(seen.slice(10)).toEqual(['421 4.7.0', '421 4.7.0']);
    await own.stop();
  });

  it('reads its certificate again when the files change, and keeps the old one over a broken pair', async () => {
    const folder = await temporaryFolder(scope);
    const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
    const ca = createTestCa();
    const install = async (name: string) => {
      const made = ca.issue({ names: [name] });
      await writeFile(key, made.key);
      await writeFile(cert, made.cert);
    };
    await install('first.test');
    const own = await startInstance(scope, {
      settings: { 'submission-tls': '127.0.0.1:0', 'tls-cert': cert, 'tls-key': key },
    });
    const shown = async () => {
      const client = await openLineClient(own.server.submission.tls?.port ?? 0, { tls: true });
      const { CN } = client.certificate.subject;
      client.close();
      return CN;
    };
    expect(await shown()).toBe('first.test');
    await install('second.test');
    expect(
      await until('the new certificate is shown', async () =>
        (await shown()) === 'second.test' ? true : null,
      ),
    ).toBe(true);
    await writeFile(key, 'broken');
    await own.server.reload();
    expect(await shown()).toBe('second.test');
    expect(own.logs.some(({ msg }) => msg.includes('the certificate before, until '))).toBe(true);
    await own.stop();
  });

  it('finishes a message that is arriving when it stops, and tells everybody else 421', async () => {
    const own = await startInstance(scope, { settings: { submission: '127.0.0.1:0' } });
    await own.call('POST', '/domains', { body: { Domain: 'example.com', Verified: true } });
    const at = own.server.submission.plain?.port ?? 0;
    const [busy, idle] = [await openLineClient(at), await openLineClient(at)];
    for (const client of [busy, idle]) {
      await client.reply();
      await client.hello();
      await client.login('token', own.token);
    }
    await busy.ask('MAIL FROM:<shop@example.com>');
    await busy.ask('RCPT TO:<b@example.net>');
    await busy.ask('DATA');
    busy.send(MESSAGE);
    const stopped = own.stop();
    expect(await idle.reply()).toMatch(/^421 4\.3\.2 /);
    await idle.closed();
    busy.send('.\r\n');
    queuedId(await busy.reply());
    expect(await busy.reply()).toMatch(/^421 4\.3\.2 /);
    await stopped;
  });

  it('takes fifty connections from one address, and a further one when one of them has gone', async () => {
    const own = await startInstance(scope, { mode: 'dev' });
    const open = () => openLineClient(own.server.submission.plain?.port ?? 0);
    const clients = await Promise.all(Array.from({ length: 50 }, open));
    for (const client of clients) expect(await client.reply()).toMatch(/^220 /);
    const more = await open();
    expect(await more.reply()).toMatch(/^421 4\.7\.0 Too many connections from your address/);
    await more.closed();
    expect(await clients.pop()?.ask('QUIT')).toMatch(/^221 /);
    // The server counts it until its socket has closed, which may be after the peer has seen it.
    const next = await until('there is room again', async () => {
      const client = await open();
      if ((await client.reply()).startsWith('220 ')) return client;
      client.close();
      return null;
    });
    clients.push(next);
    for (const client of clients) client.close();
    await own.stop();
  });
});

describe('in development', () => {
  it('loopback needs no password, and any domain may be sent from', async () => {
    const own = await startInstance(scope, { mode: 'dev' });
    const client = await openLineClient(own.server.submission.plain?.port ?? 0);
    await client.reply();
    expect(await client.ask('EHLO client.test')).toContain('AUTH PLAIN LOGIN');
    const id = queuedId(
      await send(client, MESSAGE.replaceAll('example.com', 'never-added.test'), { from: 'a@elsewhere.test' }),
    );
    expect((await own.settled(id)).Status).toBe('Delivered');
    expect(await client.login('token', own.token)).toMatch(/^235 /);
    client.close();
    await own.stop();
  });
});
