/** What arrives at a real SMTP far end: signed copies, one transaction a recipient, nobody told about anybody else. */
import PostalMime from 'postal-mime';
import { beforeAll, describe, expect, it } from 'vitest';
import { type SinkMessage, type SmtpSink, startSmtpSink } from '../fakes/smtp-sink.ts';
import { addDomain, fileScope, type Instance, startInstance, until } from './harness.ts';
import { dkimVerdict, readMail } from './signed-mail.ts';
import { type Receiver, startReceiver } from './webhook-receiver.ts';

const scope = fileScope();
let server: Instance;
let sink: SmtpSink;
let hook: Receiver;
let token: string;

beforeAll(async () => {
  sink = await startSmtpSink({ size: 30_000_000 });
  scope.defer(() => sink.close());
  hook = await startReceiver(scope);
  server = await startInstance(scope, {
    settings: {
      route: `smtp://127.0.0.1:${sink.port}`,
      'bounce-domain': 'bounces.example.com',
      'allow-networks': '127.0.0.0/8',
    },
  });
  token = await addDomain(server, 'example.com');
  await server.call('POST', '/webhooks', { token, body: { Event: 'all', WebhookURL: hook.url } });
});

/** Sends and returns what arrived for it, by recipient. */
async function copiesOf(fields: Record<string, unknown>, count: number): Promise<Map<string, SinkMessage>> {
  const before = sink.messages.length;
  const id = await server.send(fields, { token });
  await until(`${count} copies arrived`, () => sink.messages.length >= before + count);
  const facts = await server.settled(id);
  expect(facts.Status).toBe('Delivered');
  const copies = sink.messages.slice(before);
  expect(copies).toHaveLength(count);
  return new Map(copies.map((copy) => [copy.rcpts.join(' '), copy]));
}

describe('a delivered copy', () => {
  it('arrives whole and signed, and parses back field by field', async () => {
    const bytes = Buffer.from(Array.from({ length: 1000 }, (_, i) => i % 256));
    const copies = await copiesOf(
      {
        From: { name: 'Zoë "Z" Müller', email: 'sender@example.com' },
        To: [{ name: 'Иван', email: 'ivan@example.net' }],
        ReplyTo: [{ name: 'Antworten', email: 'reply@elsewhere.example' }],
        Subject: 'Grüße, 世界 — 🎉',
        HTMLContent: '<p>Grüße aus <img src="cid:logo"> Köln\n.\n.. and a dot</p>',
        PlainContent: 'Grüße\n.\nFrom here\n',
        Headers: { 'X-Entity-Ref-ID': 'abc', 'In-Reply-To': '<1@example.net>' },
        Attachments: [
          {
            Content: bytes.toString('base64'),
            Type: 'application/octet-stream',
            Filename: 'größe.bin',
            Disposition: 'attachment',
          },
          {
            Content: 'iVBORw0KGgo=',
            Type: 'image/png',
            Filename: 'l.png',
            Disposition: 'inline',
            ContentId: 'logo',
          },
        ],
      },
      1,
    );
    const [copy] = copies.values();
    if (copy === undefined) throw new Error('no copy');
    expect(await dkimVerdict(server, 'example.com', copy.data)).toBe('pass');
    const altered = Buffer.concat([copy.data, Buffer.from('x\r\n')]);
    expect(await dkimVerdict(server, 'example.com', altered)).not.toBe('pass');
    const mail = await PostalMime.parse(new Uint8Array(copy.data), { attachmentEncoding: 'arraybuffer' });
    expect(mail.subject).toBe('Grüße, 世界 — 🎉');
    expect(mail.from).toMatchObject({ name: 'Zoë "Z" Müller', address: 'sender@example.com' });
    expect(mail.to).toMatchObject([{ name: 'Иван', address: 'ivan@example.net' }]);
    expect(mail.replyTo).toMatchObject([{ name: 'Antworten', address: 'reply@elsewhere.example' }]);
    expect(mail.html?.trim()).toBe('<p>Grüße aus <img src="cid:logo"> Köln\n.\n.. and a dot</p>');
    expect(mail.text?.replaceAll('\r\n', '\n').trim()).toBe('Grüße\n.\nFrom here');
    expect(mail.attachments.map(({ filename }) => filename).sort()).toEqual(['größe.bin', 'l.png']);
    const file = mail.attachments.find(({ filename }) => filename === 'größe.bin');
    expect(Buffer.from(file?.content as ArrayBuffer).equals(bytes)).toBe(true);
    // 7 bit, CRLF and short lines on the wire.
    expect(copy.data.every((octet) => octet < 128)).toBe(true);
    const lines = copy.data.toString('latin1').split('\r\n');
    expect(lines.every((line) => line.length <= 998 && !/[\r\n]/.test(line))).toBe(true);
  });

  it('names the message in Message-ID, one for all copies, and the signature covers it', async () => {
    const id = await server.send({ To: [{ email: 'a@example.net' }, { email: 'b@example.org' }] }, { token });
    const own = await until('both copies', () => {
      const found = sink.messages.filter(({ data }) => data.includes(id));
      return found.length === 2 ? found : null;
    });
    for (const { data } of own) {
      const mail = readMail(data);
      expect(mail.header('message-id')).toEqual([`<${id}@example.com>`]);
      expect(mail.header('date')).toHaveLength(1);
      expect(mail.header('mime-version')).toEqual(['1.0']);
      const [signature = ''] = mail.header('dkim-signature');
      expect(signature).toMatch(/\bd=example\.com\b/);
      const signed = /\bh=([^;]*)/.exec(signature)?.[1]?.replaceAll(/\s/g, '').toLowerCase().split(':') ?? [];
      expect(signed).toEqual(
        expect.arrayContaining([
          'from',
          'to',
          'subject',
          'date',
          'message-id',
          'mime-version',
          'content-type',
        ]),
      );
      expect(signed.filter((name) => name === 'from').length).toBeGreaterThan(1);
    }
  });
});

describe('each recipient', () => {
  it('has an own transaction with an own return path', async () => {
    const copies = await copiesOf(
      {
        To: [{ email: 'to1@example.net' }, { email: 'to2@example.net' }],
        CC: [{ email: 'cc@example.net' }],
        BCC: [{ email: 'bcc@example.net' }],
      },
      4,
    );
    expect([...copies.keys()].sort()).toEqual([
      'bcc@example.net',
      'cc@example.net',
      'to1@example.net',
      'to2@example.net',
    ]);
    const senders = [...copies.values()].map(({ from }) => from);
    expect(new Set(senders).size).toBe(4);
    for (const sender of senders) expect(sender).toMatch(/^[a-z0-9.+=_-]{1,64}@bounces\.example\.com$/i);
  });

  it('gets one copy however often and in whichever list the address stands', async () => {
    const copies = await copiesOf(
      {
        To: [{ email: 'one@example.net' }, { email: 'one@EXAMPLE.net' }],
        CC: [{ email: 'one@example.net' }, { email: 'two@example.net' }],
        BCC: [{ email: 'two@Example.Net' }, { email: 'One@example.net' }],
      },
      3,
    );
    // A local part is its owner's business: another case is another mailbox.
    expect([...copies.keys()].sort()).toEqual(['One@example.net', 'one@example.net', 'two@example.net']);
    const mail = readMail(copies.get('one@example.net')?.data ?? Buffer.alloc(0));
    expect(mail.header('to').join()).not.toContain('two@');
    expect(mail.header('cc').join()).not.toContain('one@');
  });
});

describe('a BCC recipient', () => {
  it('is in no copy, no webhook call, no capture, and no envelope but the own', async () => {
    const secret = 'hidden.person@secret.example';
    const copies = await copiesOf(
      {
        To: [{ email: 'open@example.net' }],
        CC: [{ email: 'cc@example.net' }],
        BCC: [{ name: 'Hidden Person', email: secret }, { email: 'second.hidden@secret.example' }],
        Subject: 'BCC',
      },
      4,
    );
    const mark = /hidden|secret\.example/i;
    for (const [recipient, copy] of copies) {
      const text = copy.data.toString('latin1');
      expect(text, recipient).not.toMatch(mark);
      expect(readMail(copy.data).header('bcc')).toEqual([]);
      expect(copy.from).not.toMatch(mark);
      expect(copy.rcpts).toHaveLength(1);
    }
    await until('all webhook calls came', () => {
      const own = hook.calls.filter((call) => call.json.data.Subject === 'BCC');
      return own.length >= 8;
    });
    for (const call of hook.calls.filter(({ json }) => json.data.Subject === 'BCC')) {
      const text = call.bytes.toString('utf8');
      if (mark.test(call.json.data.To)) {
        const others = text.replaceAll(call.json.data.To, '');
        expect(others).not.toMatch(mark);
      } else expect(text).not.toMatch(mark);
    }
  });

  it('may be alone with the sender’s list of To, and mail to nobody else shows no trace', async () => {
    const id = await server.send(
      { To: [{ email: 'open2@example.net' }], BCC: [{ email: 'quiet@secret.example' }] },
      { token },
    );
    await server.settled(id);
    const raw = await server.call('GET', `/email/${id}/raw`, { token });
    expect(raw.text).not.toContain('quiet@');
    const detail = await server.call('GET', `/email/${id}`, { token });
    expect(detail.json.BCC).toEqual([{ Name: '', Email: 'quiet@secret.example' }]);
  });
});
