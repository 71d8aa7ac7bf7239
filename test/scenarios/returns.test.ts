/**
 * What comes back after delivery, through the real port: bounces, delays, automatic replies, complaints, opt-outs. Counted
 * at the message, its timeline, the list of suppressions and the webhook.
 */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { openLineClient } from '../fakes/smtp-line-client.ts';
import { type SmtpSink, startSmtpSink } from '../fakes/smtp-sink.ts';
import { command } from './commands.ts';
import { addDomain, fileScope, type Instance, startInstance, temporaryFolder, until } from './harness.ts';
import { arf, attached, dmarcDocument, dsn, handIn, plain } from './returns-kit.ts';
import { startReceiver } from './webhook-receiver.ts';

const scope = fileScope();
let far: SmtpSink;
let server: Instance;
let token: string;
let port: number;
let folder: string;

interface Sent {
  id: string;
  email: string;
  /** The return path of this copy. */
  back: string;
  /** Its X-Postrider-Ref. */
  ref: string;
}

let count = 0;

/** Sends to as many readers as asked for, waits for delivery; what travelled with each copy. */
async function sendTo(readers: number, more: Record<string, unknown> = {}): Promise<Sent[]> {
  count += 1;
  const emails = Array.from({ length: readers }, (_, i) => `reader${count}-${i}@reader.example`);
  const id = await server.send({ To: emails.map((email) => ({ name: '', email })), ...more }, { token });
  expect((await server.settled(id)).Status).toBe('Delivered');
  return emails.map((email) => {
    const copy = far.messages.find((message) => message.rcpts[0] === email);
    if (copy === undefined) throw new Error(`nothing arrived for ${email}`);
    const ref = /^X-Postrider-Ref: (\S+)\r$/m.exec(copy.data.toString('latin1'))?.[1] ?? '';
    return { id, email, back: copy.from, ref };
  });
}

async function sendOne(more: Record<string, unknown> = {}): Promise<Sent> {
  const [sent] = await sendTo(1, more);
  if (sent === undefined) throw new Error('nothing was sent');
  return sent;
}

const give = (to: string | string[], data: string, from = '') => handIn(scope, port, to, data, from);

// biome-ignore lint/suspicious/noExplicitAny: JSON of the API as a client sees it
type Json = any;

async function timeline(id: string): Promise<Json[]> {
  const found: Json[] = [];
  for (let after = ''; ; ) {
    const page = (await server.call('GET', `/email/${id}/events?Limit=100${after}`, { token })).json;
    found.push(...page.Items);
    if (!page.HasMore) return found;
    after = `&After=${page.NextCursor}`;
  }
}

/** The timeline once it holds an event of that kind. */
const untilEvent = (id: string, kind: string) =>
  until(`a ${kind} event of ${id}`, async () => (await timeline(id)).find(({ Event }) => Event === kind));

async function suppressed(email: string): Promise<string[]> {
  const { Items } = (await server.call('GET', `/suppressions?Email=${encodeURIComponent(email)}`, { token }))
    .json;
  return Items.map(({ Reason }: { Reason: string }) => Reason);
}

/** Everything that was handed in so far has been read. */
async function allRead(): Promise<void> {
  await until('the spool is empty', async () => {
    const names = await readdir(join(folder, 'spool', 'returns'));
    return names.every((name) => !name.endsWith('.eml'));
  });
}

beforeAll(async () => {
  far = await startSmtpSink();
  scope.defer(() => far.close());
  folder = await temporaryFolder(scope);
  server = await startInstance(scope, {
    folder,
    settings: {
      route: `smtp://127.0.0.1:${far.port}`,
      returns: '127.0.0.1:0',
      'bounce-domain': 'bounces.example.com',
      'allow-networks': '127.0.0.0/8',
      'webhook-allow-http': 'on',
    },
  });
  port = server.server.returns?.port ?? 0;
  token = await addDomain(server, 'example.com', { Preset: 'Full' });
});

describe('a DMARC report', () => {
  it('is read, and shows who sends in the name of the domain', async () => {
    const advised = (await server.call('GET', '/domains/example.com', { token })).json.DnsRecords.find(
      ({ Purpose }: Json) => Purpose === 'DMARC',
    );
    expect(advised.Value).toBe('v=DMARC1; p=none; rua=mailto:dmarc@bounces.example.com');
    const none = await server.call('GET', '/domains/example.com/dmarc', { token });
    expect(none.json).toMatchObject({ Domain: 'example.com', Reports: 0, Messages: 0, Sources: [] });
    const forged = {
      ip: '198.51.100.7',
      n: 2,
      dkim: 'fail',
      spf: 'fail',
      disposition: 'quarantine',
    } as const;
    const document = dmarcDocument([{ ip: '192.0.2.1', n: 40, spf: 'fail' }, forged]);
    const mail = attached('application/gzip', gzipSync(document));
    for (let i = 0; i < 2; i += 1)
      expect(await give('dmarc@bounces.example.com', mail, 'dmarc@receiver.example')).toMatch(/^250 /);
    await allRead();
    const { json } = await server.call('GET', '/domains/example.com/dmarc?Days=7', { token });
    expect(json).toMatchObject({
      ...{ Reports: 1, Messages: 42, Passed: 40, DKIM: 40, SPF: 0, Quarantined: 2, Rejected: 0 },
      Sources: [
        { Address: '192.0.2.1', Own: false, Messages: 40, Passed: 40, From: ['example.com'] },
        { Address: '198.51.100.7', Own: false, Messages: 2, Passed: 0, Reporters: ['Receiver & Co'] },
      ],
      Reporters: [{ Name: 'Receiver & Co', SignedBy: null, Reports: 1, Messages: 42 }],
      Complete: true,
    });
    const other = await addDomain(server, 'other.example', { Preset: 'Full' });
    expect((await server.call('GET', '/domains/example.com/dmarc', { token: other })).status).toBe(404);
    const shown = await command(['domain', 'dmarc', 'example.com', '--data', server.folder]);
    expect(shown.stdout).toContain('40 passed DMARC (95.2 %), 2 did not.');
    // Its return paths are below another domain, so no address for reports is advised.
    const elsewhere = await command(['domain', 'dmarc', 'other.example', '--data', server.folder]);
    expect(elsewhere.stdout).toContain('a return-path host below other.example');
    expect(elsewhere.stdout).not.toContain('Set returns');
    await server.call('POST', '/domains', { body: { Domain: 'below.bounces.example.com' } });
    const settings = { ReturnPathHost: 'r.below.bounces.example.com' };
    await server.call('PATCH', '/domains/below.bounces.example.com', { body: settings });
    const pending = await command(['domain', 'dmarc', 'below.bounces.example.com', '--data', server.folder]);
    expect(pending.stdout).toContain('Reports are read only once the domain is verified.');
    expect(pending.stdout).toContain('add ,mailto:dmarc@r.below.bounces.example.com to that');
  });
});

describe('a bounce that comes back', () => {
  it('turns delivered into bounced, suppresses the address, and calls the webhook, once', async () => {
    const receiver = await startReceiver(scope);
    const made = await server.call('POST', '/webhooks', {
      token,
      body: { Domain: 'example.com', Event: 'bounce', WebhookURL: receiver.url },
    });
    expect(made.status, made.text).toBeLessThan(300);
    const sent = await sendOne();
    const report = dsn([{ recipient: sent.email, mta: 'mx.reader.example' }]);
    for (let i = 0; i < 3; i += 1) expect(await give(sent.back, report)).toMatch(/^250 2\.6\.0 Kept as /);
    await until('it is bounced', async () => (await server.statusOf(sent.id)) === 'Bounced');
    await allRead();
    const events = await timeline(sent.id);
    const [bounced] = events.filter(({ Event }) => Event === 'bounced');
    expect(events.filter(({ Event }) => Event === 'bounced')).toHaveLength(1);
    expect(bounced.Bounce).toMatchObject({
      Type: 'Permanent',
      Class: 'RecipientInvalid',
      Scope: 'recipient',
      Phase: 'Async',
      SmtpCode: 550,
      EnhancedCode: '5.1.1',
      RemoteMta: 'mx.reader.example',
    });
    expect(await suppressed(sent.email)).toEqual(['Bounce']);
    const shown = (await server.call('GET', `/email/${sent.id}`, { token })).json.Recipients[0];
    expect(shown).toMatchObject({ Status: 'Bounced', LastResponse: expect.stringContaining('550 5.1.1') });
    const call = await until('the webhook was called', () =>
      receiver.calls.find(({ json }) => json.data.MessageID === sent.id),
    );
    expect(call.json).toMatchObject({ type: 'email.bounced', data: { Bounce: { Phase: 'Async' } } });
    expect(receiver.calls.filter(({ json }) => json.data.MessageID === sent.id)).toHaveLength(1);
    const refused = await server.call('POST', '/email', {
      token,
      body: {
        From: { email: 'sender@example.com' },
        To: [{ email: sent.email }],
        Subject: 's',
        ContentType: 'Text',
        PlainContent: 'x',
      },
    });
    expect(refused.status).toBe(422);
  });

  it('with several blocks counts the one that names the recipient, not the first', async () => {
    const sent = await sendOne();
    const report = dsn([
      {
        recipient: 'other@reader.example',
        action: 'delayed',
        status: '4.4.1',
        diagnostic: 'smtp; 451 4.4.1 later',
      },
      { recipient: sent.email, status: '5.2.2', diagnostic: 'smtp; 552 5.2.2 Mailbox full' },
      { recipient: 'third@reader.example', action: 'delivered', status: '2.0.0', diagnostic: 'smtp; 250 ok' },
    ]);
    await give(sent.back, report);
    const event = await untilEvent(sent.id, 'bounced');
    expect(event.Bounce).toMatchObject({ Class: 'MailboxFull', Type: 'Transient', Phase: 'Async' });
    expect(await suppressed(sent.email)).toEqual([]);
  });

  it('is taken at a folded or quoted return path, and from a sender that is not null', async () => {
    const [a, b, c] = await sendTo(3);
    if (a === undefined || b === undefined || c === undefined) throw new Error();
    const quoted = b.back.replace(/^(.*)@/, '"$1"@');
    expect(await give(a.back.toUpperCase(), dsn([{ recipient: a.email }]))).toMatch(/^250/);
    expect(await give(quoted, dsn([{ recipient: b.email }]))).toMatch(/^250/);
    expect(await give(c.back, dsn([{ recipient: c.email }]), 'mailer-daemon@mx.reader.example')).toMatch(
      /^250/,
    );
    await until('all are bounced', async () =>
      (await server.call('GET', `/email/${a.id}`, { token })).json.Recipients.every(
        ({ Status }: { Status: string }) => Status === 'Bounced',
      ),
    );
    expect(far.messages.some(({ rcpts }) => rcpts.includes('mailer-daemon@mx.reader.example'))).toBe(false);
  });

  it('of a forwarding is recorded with the address it went to, and suppresses nobody', async () => {
    const sent = await sendOne();
    await give(sent.back, dsn([{ recipient: 'elsewhere@mailbox.example', original: sent.email }]));
    const event = await untilEvent(sent.id, 'bounced');
    expect(event.Reason).toContain('forwarded to elsewhere@mailbox.example');
    expect(event.Bounce).toMatchObject({ Type: 'Permanent', Scope: 'message' });
    expect(await suppressed(sent.email)).toEqual([]);
  });

  it('that says delayed is a note; one that could not be read as any report is one too', async () => {
    const [delayed, odd] = await sendTo(2);
    if (delayed === undefined || odd === undefined) throw new Error();
    await give(
      delayed.back,
      dsn([
        { recipient: delayed.email, action: 'delayed', status: '4.4.1', diagnostic: 'smtp; 451 4.4.1 later' },
      ]),
    );
    await give(odd.back, plain(['From: a@reader.example', 'Subject: Who are you?'], 'I got this mail.'));
    await until(
      'both are in the timeline',
      async () => (await timeline(delayed.id)).filter(({ Event }) => Event === 'return_noted').length === 2,
    );
    expect((await server.call('GET', `/email/${odd.id}`, { token })).json.Status).toBe('Delivered');
  });

  it('that is quicker than our own record of the delivery waits for it', async () => {
    const email = 'quick@reader.example';
    const answered = new Promise<string>((resolve, reject) => {
      const before = far.messages.length;
      void until('it is on its way', () =>
        far.messages.slice(before).find(({ rcpts }) => rcpts[0] === email),
      ).then(({ from }) => give(from, dsn([{ recipient: email }])).then(resolve, reject), reject);
    });
    const id = await server.send({ To: [{ name: '', email }] }, { token });
    expect(await answered).toMatch(/^250/);
    await until('it is bounced', async () => (await server.statusOf(id)) === 'Bounced');
  });
});

describe('an automatic reply', () => {
  it('to the return path is told in the timeline and is no bounce', async () => {
    const sent = await sendOne();
    const text = 'I am away.\nYour message "550 5.1.1 user unknown" was received.';
    await give(
      sent.back,
      plain(
        [
          'From: <reader@reader.example>',
          'Subject: Out of office: back on Monday',
          'Auto-Submitted: auto-replied',
        ],
        text,
      ),
    );
    const event = await untilEvent(sent.id, 'auto_reply');
    expect(event.Reason).toContain('Out of office: back on Monday');
    expect(await server.statusOf(sent.id)).toBe('Delivered');
    expect(await suppressed(sent.email)).toEqual([]);
  });
});

describe('a complaint', () => {
  it('that names nobody is attributed by the token in the copy, for each of 50 recipients', async () => {
    const sent = await sendTo(50);
    for (const { ref } of sent) await give('fbl@bounces.example.com', arf([`X-Postrider-Ref: ${ref}`]));
    await allRead();
    const { id } = sent[0] as Sent;
    const complained = (await timeline(id)).filter(({ Event }) => Event === 'complained');
    expect(complained.map(({ Recipient }: Json) => Recipient).sort()).toEqual(
      sent.map(({ email }) => email).sort(),
    );
    for (const { email } of sent) expect(await suppressed(email)).toEqual(['Complaint']);
    expect((await server.call('GET', `/email/${id}`, { token })).json.Status).toBe('Delivered');
  });

  it('is taken back by not-spam, once each, and only what it made', async () => {
    const sent = await sendOne();
    const report = [`X-Postrider-Ref: ${sent.ref}`];
    await give('fbl-provider@bounces.example.com', arf(report, { type: 'not-spam' }));
    await give('fbl-provider@bounces.example.com', arf(report));
    await until('it is suppressed', async () => (await suppressed(sent.email)).includes('Complaint'));
    await give('fbl-provider@bounces.example.com', arf(report, { type: 'not-spam' }));
    await untilEvent(sent.id, 'complaint_withdrawn');
    expect(await suppressed(sent.email)).toEqual([]);
    await give('fbl-provider@bounces.example.com', arf(report));
    await allRead();
    expect(await suppressed(sent.email)).toEqual([]);
  });

  it('finds its delivery by the return path as well; fraud is for a person', async () => {
    const [a, b] = await sendTo(2);
    if (a === undefined || b === undefined) throw new Error();
    await give('fbl@bounces.example.com', arf([], { fields: [`Original-Mail-From: <${a.back}>`] }));
    await give('fbl@bounces.example.com', arf([`X-Postrider-Ref: ${b.ref}`], { type: 'fraud' }));
    await until('a has complained', async () => (await suppressed(a.email)).includes('Complaint'));
    await allRead();
    expect(await suppressed(b.email)).toEqual([]);
    expect(server.logText()).toContain('a feedback report that needs a person');
  });

  it('that cannot be attributed is kept for the operator and changes nothing', async () => {
    const sent = await sendOne();
    const forged = sent.ref.replace(/.$/, (c) => (c === '0' ? '1' : '0'));
    await give(
      'fbl@bounces.example.com',
      arf([`X-Postrider-Ref: ${forged}`, `Message-ID: <${sent.id}@example.com>`], {
        fields: [`Original-Rcpt-To: ${sent.email}`, 'Original-Mail-From: <sender@example.com>'],
      }),
    );
    await allRead();
    expect(await suppressed(sent.email)).toEqual([]);
    const kept = await readdir(join(folder, 'spool', 'returns', 'unattributed'));
    expect(kept.some((name) => name.endsWith('.eml'))).toBe(true);
    expect(server.logText()).toContain('a complaint could not be attributed');
  });
});

describe('the returns port', () => {
  it('knows nobody but addresses of ours that verify', async () => {
    const sent = await sendOne();
    const client = await openLineClient(port);
    scope.defer(() => client.close());
    expect(await client.reply()).toMatch(/^220 mail\.postrider\.test ESMTP/);
    const hello = await client.ask('EHLO client.test');
    expect(hello).toContain('STARTTLS');
    expect(hello).not.toContain('AUTH');
    expect(await client.ask('AUTH PLAIN AGEAYg==')).toMatch(/^502 5\.5\.1 /);
    expect(await client.ask('MAIL FROM:<>')).toMatch(/^250/);
    const altered = sent.back.replace(/.@/, (end) => (end[0] === '0' ? '1@' : '0@'));
    for (const to of [
      altered,
      'info@bounces.example.com',
      'reader@reader.example',
      'postmaster@elsewhere.example',
      'fbl@elsewhere.example',
      'b-@bounces.example.com',
    ]) {
      expect(await client.ask(`RCPT TO:<${to}>`), to).toMatch(/^550 5\.1\.1 /);
    }
    for (const to of [
      sent.back,
      'Postmaster',
      'POSTMASTER@bounces.example.com',
      'abuse@mail.postrider.test',
      'dmarc@bounces.example.com',
      'tlsrpt@bounces.example.com',
    ]) {
      expect(await client.ask(`RCPT TO:<${to}>`), to).toMatch(/^250/);
    }
    for (let i = 6; i < 10; i += 1)
      expect(await client.ask(`RCPT TO:<abuse@bounces.example.com>`)).toMatch(/^250/);
    expect(await client.ask('RCPT TO:<abuse@bounces.example.com>')).toMatch(/^452/);
    expect(await client.ask('RSET')).toMatch(/^250/);
    expect(await client.ask('MAIL FROM:<> SIZE=3000000')).toMatch(/^552/);
    client.close();
  });

  it('keeps at most five connections of one address', async () => {
    const clients = [];
    for (let i = 0; i < 5; i += 1) {
      const client = await openLineClient(port);
      scope.defer(() => client.close());
      expect(await client.reply()).toMatch(/^220/);
      clients.push(client);
    }
    const sixth = await openLineClient(port);
    scope.defer(() => sixth.close());
    expect(await sixth.reply()).toMatch(/^421 4\.7\.0 /);
    for (const client of clients) client.close();
    await until('there is room again', async () => {
      const client = await openLineClient(port);
      const greeting = await client.reply();
      client.close();
      return greeting.startsWith('220');
    });
  });

  it('is seen in /readyz and /metrics, and in the mail that waits for a person', async () => {
    expect(
      await give(
        'abuse@bounces.example.com',
        plain(['From: a@reader.example', 'Subject: Complaint'], 'Stop it'),
        'a@reader.example',
      ),
    ).toMatch(/^250/);
    await until(
      'it lies there',
      async () => (await readdir(join(folder, 'spool', 'returns', 'operator'))).length >= 2,
    );
    const base = server.server.localUrl;
    expect(await (await fetch(`${base}/readyz`)).text()).toContain('returns');
    expect(
      await (await fetch(`${base}/metrics`, { headers: { authorization: `Bearer ${server.token}` } })).text(),
    ).toContain('postrider_returns_read_total{kind="operator"}');
  });

  it('passes mail for postmaster and abuse on to the operator, once, and nothing that could go in circles', async () => {
    const place = await temporaryFolder(scope);
    const one = await startInstance(scope, {
      folder: place,
      settings: {
        route: `smtp://127.0.0.1:${far.port}`,
        returns: '127.0.0.1:0',
        'bounce-domain': 'bounces.example.com',
        'operator-address': 'ops@operator.example',
      },
    });
    await addDomain(one, 'example.com');
    const at = one.server.returns?.port ?? 0;
    const letter = plain(
      ['From: Ann <ann@reader.example>', 'Subject: Stop this', 'X-Postrider-Ref: of another server'],
      'Your customer sends spam.',
    );
    const hand = (headers: string[], from = 'ann@reader.example') =>
      handIn(scope, at, 'abuse@bounces.example.com', plain([...headers, 'Subject: Loop'], 'x'), from);
    expect(await handIn(scope, at, 'abuse@bounces.example.com', letter, 'ann@reader.example')).toMatch(
      /^250/,
    );
    await hand(['Auto-Submitted: auto-replied']);
    await hand(Array.from({ length: 31 }, (_, i) => `Received: from h${i} by h${i + 1}; x`));
    await hand([], '');
    const passed = await until('it was passed on', () =>
      far.messages.find(({ rcpts }) => rcpts[0] === 'ops@operator.example'),
    );
    const text = passed.data.toString('latin1');
    expect(text).toMatch(/^From: Postrider <postmaster@example\.com>\r$/m);
    expect(text).toContain('Subject: [abuse] Stop this\r\n');
    expect(text).toContain('Auto-Submitted: auto-generated\r\n');
    const attached = /filename="message\.eml"[\s\S]*?\r\n\r\n([\s\S]*?)\r\n--/.exec(text)?.[1] ?? '';
    const inside = attached.includes('spam') ? attached : Buffer.from(attached, 'base64').toString();
    expect(inside).toContain('Your customer sends spam.');
    await hand([/^X-Postrider-Ref: .*(?=\r$)/m.exec(text)?.[0] ?? '']);
    await until('the others are files', async () => {
      const kept = await readdir(join(place, 'spool', 'returns', 'operator'));
      return kept.filter((name) => name.endsWith('.eml')).length === 4;
    });
    expect(far.messages.filter(({ rcpts }) => rcpts[0] === 'ops@operator.example')).toHaveLength(1);
  });

  it('reads at the start what it had taken before it ended', async () => {
    const sent = await sendOne();
    await server.stop();
    const { copyFile, writeFile } = await import('node:fs/promises');
    const spool = join(folder, 'spool', 'returns');
    const [old] = (await readdir(join(spool, 'operator'))).filter((name) => name.endsWith('.eml'));
    const id = '019a0000-0000-7000-8000-000000000001';
    await copyFile(join(spool, 'operator', old ?? ''), join(spool, `${id}.eml`));
    await writeFile(join(spool, '019a0000-0000-7000-8000-000000000002.eml'), 'no envelope at all');
    const again = await startInstance(scope, {
      folder,
      settings: {
        route: `smtp://127.0.0.1:${far.port}`,
        returns: '127.0.0.1:0',
        'bounce-domain': 'bounces.example.com',
      },
    });
    await until('the good one is in its folder, the damaged one in quarantine', async () => {
      const kept = await readdir(join(spool, 'operator'));
      const aside = await readdir(join(spool, 'quarantine'));
      return kept.includes(`${id}.eml`) && aside.length === 2;
    });
    expect((await again.call('GET', `/email/${sent.id}`)).json.Status).toBe('Delivered');
  });
});
