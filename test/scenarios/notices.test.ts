/**
 * Notices to senders of SMTP mail: submitted over real sockets, refused or taken by a far end, told by mail to the envelope
 * sender, whose own mail server is the same far end. Read there by a parser of others and by our own reader of reports.
 */
import { createTransport } from 'nodemailer';
import PostalMime from 'postal-mime';
import { beforeAll, describe, expect, it } from 'vitest';
import { type DsnReport, readDsn } from '../../src/mail/dsn.ts';
import { readMime } from '../../src/mail/mime-tree.ts';
import { type LineClient, openLineClient } from '../fakes/smtp-line-client.ts';
import { type SinkMessage, type SmtpSink, startSmtpSink } from '../fakes/smtp-sink.ts';
import { fileScope, type Instance, startInstance, until } from './harness.ts';
import { dsn, handIn } from './returns-kit.ts';
import { dkimVerdict } from './signed-mail.ts';

const scope = fileScope();
const SENDER = 'ann@example.com';
let far: SmtpSink;
let server: Instance;
let token: string;
let count = 0;

beforeAll(async () => {
  far = await startSmtpSink({
    eightBitMime: true,
    smtpUtf8: true,
    dsn: true,
    refuse: (recipient) => (/^gone/.test(recipient) ? `550 5.1.1 <${recipient}>: No such user here` : null),
  });
  scope.defer(() => far.close());
  server = await startInstance(scope, {
    settings: {
      submission: '127.0.0.1:0',
      returns: '127.0.0.1:0',
      'bounce-domain': 'bounces.example.com',
      route: `smtp://127.0.0.1:${far.port}`,
      'notice-wait': '300ms',
      retry: '100ms',
    },
  });
  await server.call('POST', '/domains', { body: { Domain: 'example.com', Verified: true } });
  token = (
    await server.call('POST', '/tokens', { body: { Name: 's', Domains: ['example.com'], Preset: 'Send' } })
  ).json.Token;
});

async function connected(user = 'token', password = token): Promise<LineClient> {
  const client = await openLineClient(server.server.submission.plain?.port ?? 0);
  scope.defer(() => client.close());
  await client.reply();
  expect(await client.hello()).toContain('DSN');
  expect(await client.login(user, password)).toMatch(/^235 /);
  return client;
}

interface Envelope {
  from?: string;
  /** With their parameters: `a@example.net> NOTIFY=NEVER` has no bracket of its own. */
  to: readonly (string | readonly [address: string, parameters: string])[];
  mail?: string;
  data?: string;
}

/** Submits; the last reply. */
async function submit(client: LineClient, { from = SENDER, to, mail = '', data }: Envelope): Promise<string> {
  count += 1;
  const text =
    data ?? `From: Ann <${SENDER}>\r\nTo: all\r\nSubject: Offer ${count}\r\n\r\nBody of ${count}\r\n`;
  expect(await client.ask(`MAIL FROM:<${from}>${mail}`)).toMatch(/^250 /);
  for (const one of to) {
    const [address, parameters] = typeof one === 'string' ? [one, ''] : one;
    expect(await client.ask(`RCPT TO:<${address}>${parameters}`)).toMatch(/^250 /);
  }
  expect(await client.ask('DATA')).toMatch(/^354 /);
  return client.ask(`${text}.`);
}

async function accepted(client: LineClient, envelope: Envelope): Promise<string> {
  const reply = await submit(client, envelope);
  const id = /^250 2\.6\.0 Queued as ([0-9a-f-]{36})$/.exec(reply)?.[1];
  if (id === undefined) throw new Error(`Not accepted: ${reply}`);
  return id;
}

interface NoticeRow {
  MessageID: string;
  Subject: string;
  Tags: string[];
  Metadata: Record<string, string>;
}

/** Notices about a message, as the list of messages shows them. */
async function noticesOf(id: string): Promise<NoticeRow[]> {
  const { Items } = (await server.call('GET', '/email?Tag=notice&Limit=100')).json as { Items: NoticeRow[] };
  const found: NoticeRow[] = [];
  for (const { MessageID } of Items) {
    const detail = (await server.call('GET', `/email/${MessageID}`)).json as NoticeRow;
    if (detail.Metadata.NoticeFor === id) found.push(detail);
  }
  return found;
}

interface Read {
  message: SinkMessage;
  report: DsnReport;
  text: string;
  raw: string;
  parts: readonly { type: string; content: string }[];
}

/** The notice about a message as it arrived. */
async function arrived(id: string): Promise<Read> {
  const [row] = await until(`a notice about ${id}`, async () => {
    const rows = await noticesOf(id);
    return rows.length > 0 ? rows : null;
  });
  const notice = row?.MessageID ?? '';
  const message = await until(`notice ${notice} arrives`, () =>
    far.messages.find(({ data }) => data.toString('latin1').includes(`Message-ID: <${notice}@`)),
  );
  const report = readDsn(readMime(message.data));
  if (report === null) throw new Error('no report');
  const parsed = await PostalMime.parse(message.data, {
    attachmentEncoding: 'utf8',
    forceRfc822Attachments: true,
  });
  return {
    message,
    report,
    text: parsed.text ?? '',
    raw: message.data.toString('latin1'),
    parts: parsed.attachments.map(({ mimeType, content }) => ({ type: mimeType, content: `${content}` })),
  };
}

/** A failing message of the same sender that comes after: once its notice is there, an earlier one would be too. */
async function noneFor(client: LineClient, id: string): Promise<void> {
  const marker = await accepted(client, { to: [`gone-marker-${count}@reader.example`] });
  await arrived(marker);
  expect(await noticesOf(id)).toEqual([]);
}

describe('a sender by SMTP', () => {
  it('gets a mail about a refused recipient, with the null sender, signed, in the form of RFC 3464', async () => {
    const client = await connected();
    const id = await accepted(client, {
      mail: ' RET=HDRS ENVID=QQ+2B17',
      to: [['gone-1@reader.example', ' ORCPT=rfc822;first+2B1@reader.example'], 'fine-1@reader.example'],
    });
    const { message, report, text, raw, parts } = await arrived(id);
    expect(message).toMatchObject({ from: '', rcpts: [SENDER], rcptParams: ['NOTIFY=NEVER'] });
    expect(message.mailParams.some((word) => /^(RET|ENVID)=/.test(word))).toBe(false);
    expect(raw).toMatch(/^From: Mail Delivery System <MAILER-DAEMON@example\.com>\r$/m);
    expect(raw).toMatch(/^Auto-Submitted: auto-replied\r$/m);
    expect(await dkimVerdict(server, 'example.com', message.data)).toBe('pass');
    expect(report.reportingMta).toBe('mail.postrider.test');
    expect(report.recipients).toEqual([
      {
        action: 'failed',
        status: '5.1.1',
        diagnostic: '550 5.1.1 <gone-1@reader.example>: No such user here',
        isSmtp: true,
        finalRecipient: 'gone-1@reader.example',
        originalRecipient: 'first+1@reader.example',
        remoteMta: '[127.0.0.1]',
      },
    ]);
    expect(text).toContain('gone-1@reader.example');
    expect(text).not.toContain('fine-1@reader.example');
    expect(parts.map(({ type }) => type)).toEqual(['message/delivery-status', 'text/rfc822-headers']);
    expect(parts[0]?.content).toContain('Original-Envelope-Id: QQ+17');
    expect(parts[1]?.content).toContain(`Subject: Offer ${count}`);
    expect(parts[1]?.content).not.toContain('Body of');
    const [row] = await noticesOf(id);
    expect(row?.Tags).toEqual(['notice']);
    expect(row?.Subject).toMatch(/^Undelivered mail: Offer /);
  });

  it('gets the whole message back where it asks for that', async () => {
    const id = await accepted(await connected(), { mail: ' RET=FULL', to: ['gone-2@reader.example'] });
    const mine = `Body of ${count}`;
    const { parts } = await arrived(id);
    expect(parts.at(-1)?.type).toBe('message/rfc822');
    expect(parts.at(-1)?.content).toContain(mine);
  });

  it('gets the header alone of a message with octets above 127', async () => {
    const data = `From: <${SENDER}>\r\nSubject: x\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: 8bit\r\n\r\n`;
    const id = await accepted(await connected(), {
      mail: ' RET=FULL BODY=8BITMIME',
      to: ['gone-8@reader.example'],
      data: `${data}${Buffer.from('Grüße').toString('latin1')}\r\n`,
    });
    const { parts, message } = await arrived(id);
    expect(parts.at(-1)?.type).toBe('text/rfc822-headers');
    expect(message.data.every((octet) => octet < 128)).toBe(true);
  });

  it('gets one notice for recipients that fail together', async () => {
    const to = Array.from({ length: 5 }, (_, i) => `gone-3-${i}@reader.example`);
    const id = await accepted(await connected(), { to });
    const { report } = await arrived(id);
    expect(report.recipients.map(({ finalRecipient }) => finalRecipient).sort()).toEqual(to);
    expect(await noticesOf(id)).toHaveLength(1);
  });

  it('hears nothing of a recipient with NOTIFY=NEVER', async () => {
    const client = await connected();
    const id = await accepted(client, { to: [['gone-4@reader.example', ' NOTIFY=NEVER']] });
    expect((await server.settled(id)).Status).toBe('Failed');
    await noneFor(client, id);
  });

  it('hears of success where it asks for it, and there alone', async () => {
    const id = await accepted(await connected(), {
      to: [['fine-5@reader.example', ' NOTIFY=SUCCESS,FAILURE'], 'fine-6@reader.example'],
    });
    const { report, text } = await arrived(id);
    expect(report.recipients).toMatchObject([
      { action: 'relayed', status: '2.0.0', finalRecipient: 'fine-5@reader.example' },
    ]);
    expect(text).toContain('took it');
  });

  it('is told of a recipient on the suppression list', async () => {
    await server.call('POST', '/suppressions', {
      body: { Domain: 'example.com', Items: [{ Email: 'no-7@reader.example' }] },
    });
    const id = await accepted(await connected(), { to: ['no-7@reader.example', 'fine-7@reader.example'] });
    const { report } = await arrived(id);
    expect(report.recipients).toMatchObject([
      { action: 'failed', status: '5.7.1', finalRecipient: 'no-7@reader.example' },
    ]);
  });

  it('is told of a bounce that comes after delivery', async () => {
    const id = await accepted(await connected(), { to: ['fine-9@reader.example'] });
    await server.settled(id);
    const copy = far.messages.find(({ rcpts }) => rcpts[0] === 'fine-9@reader.example');
    await handIn(
      scope,
      server.server.returns?.port ?? 0,
      copy?.from ?? '',
      dsn([
        { recipient: 'fine-9@reader.example', diagnostic: 'smtp; 552 5.2.2 Mailbox full', status: '5.2.2' },
      ]),
    );
    const { report } = await arrived(id);
    expect(report.recipients).toMatchObject([{ action: 'failed', status: '5.2.2' }]);
  });

  it('cannot write lines into a notice by what it gives with its message', async () => {
    const client = await connected();
    const crlf = '+0D+0A';
    expect(await client.ask(`MAIL FROM:<${SENDER}> ENVID=a${crlf}Action:+20delivered`)).toMatch(/^501 /);
    await client.ask(`MAIL FROM:<${SENDER}>`);
    expect(await client.ask(`RCPT TO:<a@reader.example> ORCPT=rfc822;x${crlf}Action:+20x`)).toMatch(/^501 /);
    await client.ask('RSET');
    const id = await accepted(client, {
      mail: ' ENVID=Action:+20delivered',
      to: [['gone-10@reader.example', ' ORCPT=rfc822;+20y@z.example']],
      data: `From: <${SENDER}>\r\nSubject: =?utf-8?q?a=0D=0ABcc:_x@z.example?=\r\n\r\nx\r\n`,
    });
    const { report, raw } = await arrived(id);
    expect(report.recipients.map(({ finalRecipient }) => finalRecipient)).toEqual(['gone-10@reader.example']);
    expect(raw).not.toMatch(/^(Bcc|Action: delivered)/m);
  });

  it('without a notice wish of its own is the null sender, which stays null and is told nothing', async () => {
    const client = await connected();
    const data = `From: <${SENDER}>\r\nSubject: Null\r\n\r\nx\r\n`;
    const fine = await accepted(client, {
      from: '',
      to: [['fine-11@reader.example', ' NOTIFY=SUCCESS']],
      data,
    });
    await server.settled(fine);
    const copy = far.messages.find(({ rcpts }) => rcpts[0] === 'fine-11@reader.example');
    expect(copy).toMatchObject({ from: '', rcptParams: ['NOTIFY=NEVER'] });
    const failing = await accepted(client, { from: '', to: ['gone-11@reader.example'], data });
    await server.settled(failing);
    await noneFor(client, failing);
    expect(await noticesOf(fine)).toEqual([]);
  });

  it('that does not exist gets no notice about its notice', async () => {
    const client = await connected();
    const id = await accepted(client, { from: 'gone-ann@example.com', to: ['gone-12@reader.example'] });
    const [notice] = await until('the notice', async () => {
      const rows = await noticesOf(id);
      return rows.length > 0 ? rows : null;
    });
    expect((await server.settled(notice?.MessageID ?? '')).Status).toBe('Failed');
    await noneFor(client, notice?.MessageID ?? '');
  });

  it('of a credential without notices is told nothing', async () => {
    const user = (
      await server.call('POST', '/smtp-credentials', { body: { Domain: 'example.com', Notices: false } })
    ).json;
    expect(user.Notices).toBe(false);
    const client = await connected(user.Username, user.Password);
    const id = await accepted(client, { to: ['gone-13@reader.example'] });
    await server.settled(id);
    await noneFor(await connected(), id);
  });

  it('of what the sandbox simulated finds the notice in the sandbox', async () => {
    const data = `X-Postrider-Sandbox: bounce\r\nFrom: <${SENDER}>\r\nSubject: Played\r\n\r\nx\r\n`;
    const id = await accepted(await connected(), { to: ['fine-16@reader.example'], data });
    const [notice] = await until('the notice', async () => {
      const rows = await noticesOf(id);
      return rows.length > 0 ? rows : null;
    });
    const facts = await server.settled(notice?.MessageID ?? '');
    expect(facts.Recipients).toMatchObject([{ Email: SENDER, Status: 'Delivered', Route: 'sandbox' }]);
    expect(far.messages.some(({ data: bytes }) => bytes.includes(`${notice?.MessageID}@`))).toBe(false);
  });

  it('asks with Nodemailer', async () => {
    const transport = createTransport({
      host: '127.0.0.1',
      port: server.server.submission.plain?.port ?? 0,
      requireTLS: true,
      auth: { user: 'token', pass: token },
      tls: { rejectUnauthorized: false },
    });
    const info = await transport.sendMail({
      from: SENDER,
      to: 'gone-14@reader.example',
      subject: 'With Nodemailer',
      text: 'x',
      dsn: { id: 'nm-14', return: 'headers', notify: ['failure', 'delay'], recipient: SENDER },
    });
    transport.close();
    const { parts } = await arrived(info.response.slice(-36));
    expect(parts[0]?.content).toContain('Original-Envelope-Id: nm-14');
  });

  it('of mail over HTTP is told nothing', async () => {
    const id = await server.send(
      { To: [{ name: '', email: 'gone-15@reader.example' }] },
      {
        body: {
          From: { name: '', email: SENDER },
          To: [{ name: '', email: 'gone-15@reader.example' }],
          Subject: 's',
          ContentType: 'Text',
          PlainContent: 'x',
        },
      },
    );
    await server.settled(id);
    await noneFor(await connected(), id);
  });
});
