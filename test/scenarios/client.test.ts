/** The client an application imports, its webhook helper and its Nodemailer transport, against the real server. */
import { execFile } from 'node:child_process';
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import nodemailer, { type SendMailOptions } from 'nodemailer';
import { beforeAll, describe, expect, it } from 'vitest';
import { createPostrider, type Postrider, PostriderError, verifyWebhook } from '../../src/client/index.ts';
import { type ExtraFields, postriderTransport } from '../../src/client/nodemailer.ts';
import { addDomain, fileScope, type Instance, makeToken, startInstance, temporaryFolder } from './harness.ts';
import { startReceiver } from './webhook-receiver.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const scope = fileScope();
let server: Instance;
let postrider: Postrider;
let options: { baseUrl: string; token: string };

beforeAll(async () => {
  server = await startInstance(scope, { settings: { 'allow-networks': '127.0.0.0/8' } });
  await addDomain(server, 'example.com');
  const token = await makeToken(server, { Domains: ['example.com'], Preset: 'Full' });
  options = { baseUrl: server.server.localUrl, token };
  postrider = createPostrider(options);
});

const MESSAGE = {
  From: { email: 'shop@example.com', name: 'The shop' },
  To: [{ email: 'ada@example.net' }],
  Subject: 'Hello from the client',
  HTMLContent: '<p>Hi</p>',
};

describe('the client', () => {
  it('waits in an inbox of its own, follows it, plays faults and cleans up', async () => {
    const { sandbox } = postrider;
    const seen: string[] = [];
    const abort = new AbortController();
    const following = (async () => {
      for await (const { capture } of sandbox.stream({ Inbox: 'branch-a' }, { signal: abort.signal }))
        seen.push(capture.Subject);
    })().catch((error: unknown) => error);
    const waiting = sandbox.wait({ Inbox: 'branch-a', Subject: 'code', Timeout: 90 });
    const to = (inbox: string) => [{ email: `ada+${inbox}@example.net` }];
    const text = { Subject: 'Your code', HTMLContent: '<p>It is <b>482913</b></p>' };
    await postrider.send({ ...MESSAGE, ...text, To: to('branch-b') });
    await postrider.send({ ...MESSAGE, ...text, To: to('branch-a') });
    expect(await waiting).toMatchObject({ Inbox: 'branch-a', Codes: ['482913'] });
    const names = (await sandbox.inboxes({ Limit: 100 })).Items.map(({ Inbox }) => Inbox);
    expect(names).toEqual(expect.arrayContaining(['branch-a', 'branch-b']));
    await expect(sandbox.wait({ Inbox: 'branch-a', Text: 'nothing of this', Timeout: 0 })).rejects.toThrow(
      /"nothing of this" in the text: "Your code" to ada\+branch-a@example\.net/,
    );

    const rule = await sandbox.rules.add({
      Inbox: 'branch-a',
      Result: 'Bounce',
      Code: 550,
      Enhanced: '5.1.1',
    });
    expect((await sandbox.rules.list()).map(({ RuleID }) => RuleID)).toContain(rule.RuleID);
    const { MessageID } = await postrider.send({ ...MESSAGE, To: to('branch-a') });
    await expect
      .poll(async () => (await postrider.messages.get(MessageID)).Recipients[0]?.Status)
      .toBe('Bounced');
    await sandbox.rules.delete(rule.RuleID);
    expect(await sandbox.rules.clear({ Inbox: 'branch-a' })).toEqual({ Deleted: 0 });

    await expect.poll(() => seen).toEqual(['Your code']);
    abort.abort();
    await following;
    const [own] = (await sandbox.list({ Inbox: 'branch-a' })).Items;
    await expect(sandbox.release(own?.ID ?? '')).rejects.toMatchObject({ problem: 'not-releasable' });
    await sandbox.delete(own?.ID ?? '');
    expect(await sandbox.clear({ Inbox: 'branch-b' })).toEqual({ Deleted: 1 });
    for await (const left of sandbox.all({ Subject: 'Your code' }))
      throw new Error(`${left.Inbox} is not empty`);
  });

  it('sends, once per key, and finds what was captured', async () => {
    const call = { idempotencyKey: 'client-1' };
    const { MessageID } = await postrider.send(
      { ...MESSAGE, Attachments: [{ Filename: 'a.bin', Content: new Uint8Array([0, 255, 7]) }] },
      call,
    );
    expect(
      (
        await postrider.send(
          { ...MESSAGE, Attachments: [{ Filename: 'a.bin', Content: new Uint8Array([0, 255, 7]) }] },
          call,
        )
      ).MessageID,
    ).toBe(MessageID);
    const captured = await postrider.sandbox.wait({ To: 'ada@example.net', Subject: 'client', Timeout: 10 });
    expect(captured).toMatchObject({ MessageID, Subject: MESSAGE.Subject });
    expect(captured.Attachments[0]).toMatchObject({ Filename: 'a.bin', Size: 3 });
    expect(new TextDecoder().decode(await postrider.sandbox.raw(captured.ID))).toContain('DKIM-Signature:');
    expect(await postrider.sandbox.attachment(captured.ID, 0)).toEqual(new Uint8Array([0, 255, 7]));
    expect(await postrider.sandbox.html(captured.ID)).toContain('<p>Hi</p>');
    const detail = await postrider.messages.get(MessageID);
    expect(detail.Recipients[0]).toMatchObject({ Email: 'ada@example.net', Status: 'Delivered' });
    expect((await postrider.messages.events(MessageID)).Items.map(({ Event }) => Event)).toContain(
      'delivered',
    );
    expect(new TextDecoder().decode(await postrider.messages.raw(MessageID))).toContain('From: ');
  });

  it('pages through a list to its end', async () => {
    const sent = new Set<string>();
    for (let i = 0; i < 5; i++) sent.add((await postrider.send({ ...MESSAGE, Tags: ['paged'] })).MessageID);
    const found: string[] = [];
    for await (const { MessageID } of postrider.messages.all({ Tag: 'paged', Limit: 2 }))
      found.push(MessageID);
    expect(new Set(found)).toEqual(sent);
    expect(found).toHaveLength(5);
  });

  it('throws what the server said', async () => {
    const error = await postrider.send({ ...MESSAGE, To: [] }).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(PostriderError);
    expect(error).toMatchObject({ status: 422, problem: 'to-count' });
  });

  it('streams events as they happen and goes on after a break', async () => {
    const first = new AbortController();
    const seen: string[] = [];
    let last = '';
    const reading = (async () => {
      for await (const { id, event } of postrider.events({ signal: first.signal })) {
        seen.push(`${event.Event} ${event.MessageID}`);
        last = id;
        if (event.Event === 'delivered') break;
      }
    })();
    // The stream begins where it is opened: what is sent before it is open is not in it.
    const ids: string[] = [];
    while (!seen.some((line) => line.startsWith('delivered'))) {
      ids.push((await postrider.send({ ...MESSAGE, Subject: 'streamed' })).MessageID);
      await Promise.race([reading, server.settled(ids.at(-1) ?? '')]);
      if (ids.length > 100) throw new Error('no event came');
    }
    await reading;
    const { MessageID } = await postrider.send({ ...MESSAGE, Subject: 'after the break' });
    for await (const { event } of postrider.events({ lastEventId: last })) {
      if (event.MessageID === MessageID && event.Event === 'delivered') break;
    }
  });

  it('manages webhooks, and the helper believes their calls and no others', async () => {
    const receiver = await startReceiver(scope);
    const { NewWebhookID, Secret } = await postrider.webhooks.create({
      Event: 'delivery',
      WebhookURL: receiver.url,
    });
    expect((await postrider.webhooks.list()).map(({ WebhookID }) => WebhookID)).toContain(NewWebhookID);
    const { MessageID } = await postrider.send(MESSAGE);
    const call = await receiver.next('the delivery is told', ({ json }) => json.data.MessageID === MessageID);
    const event = await verifyWebhook<{ MessageID: string }>({
      payload: call.bytes,
      headers: call.headers,
      secret: Secret,
    });
    expect(event.type).toBe('email.delivered');
    expect(event.data.MessageID).toBe(MessageID);
    await postrider.webhooks.update(NewWebhookID, { Status: 'Disabled' });
    expect((await postrider.webhooks.get(NewWebhookID)).Status).toBe('Disabled');
    expect(await postrider.webhooks.delete(NewWebhookID)).toEqual({});
  });

  it('keeps the suppression list', async () => {
    const added = await postrider.suppressions.add([{ Email: 'o.hara/x@example.net', Note: 'asked us' }]);
    expect(added).toEqual({ Added: 1, Existing: 0 });
    expect((await postrider.suppressions.get('o.hara/x@example.net')).Entries).toHaveLength(1);
    const all: string[] = [];
    for await (const { Email } of postrider.suppressions.all()) all.push(Email);
    expect(all).toContain('o.hara/x@example.net');
    await postrider.suppressions.remove('o.hara/x@example.net');
    expect((await postrider.me()).Domains[0]).toMatchObject({ Domain: 'example.com' });
    expect((await postrider.stats()).Items).toHaveLength(1);
  });
});

describe('the Nodemailer transport', () => {
  it('sends what Nodemailer composes: addresses, both bodies, files, pictures, headers, lists', async () => {
    const transporter = nodemailer.createTransport(postriderTransport(options));
    const mail: SendMailOptions & { postrider: ExtraFields } = {
      from: '"Müller, Jörg" <shop@example.com>',
      to: ['Ada <ada@example.net>', 'Team: grace@example.net, "Edsger" <edsger@example.net>;'],
      cc: 'cc@example.net',
      bcc: 'hidden@example.net',
      replyTo: 'answers@example.com',
      subject: 'Grüße ✉',
      text: 'plain',
      html: '<p>rich <img src="cid:logo@x"></p>',
      attachments: [
        { filename: 'note.txt', content: 'naïve' },
        { filename: 'logo.png', content: Buffer.from([1, 2, 3]), cid: 'logo@x' },
      ],
      headers: { 'X-Order': '42' },
      list: { unsubscribe: 'https://example.com/u' },
      priority: 'high',
      postrider: { Tags: ['receipt'], Priority: 'critical', idempotencyKey: 'nm-1' },
    };
    const info = await transporter.sendMail(mail);
    expect(info.accepted).toHaveLength(5);
    const captured = await postrider.sandbox.wait({ To: 'grace@example.net', Timeout: 10 });
    expect(captured.MessageID).toBe(info.messageId);
    expect(captured).toMatchObject({
      Subject: 'Grüße ✉',
      From: { Email: 'shop@example.com', Name: 'Müller, Jörg' },
      PlainContent: expect.stringContaining('plain'),
      Tags: ['receipt'],
    });
    const files = captured.Attachments.map(({ Filename, Size }) => [Filename, Size]);
    expect(files).toEqual(
      expect.arrayContaining([
        ['note.txt', 6],
        ['logo.png', 3],
      ]),
    );
    const raw = new TextDecoder().decode(await postrider.sandbox.raw(captured.ID));
    expect(raw).toMatch(/^x-order: 42\r$/im);
    expect(raw).toMatch(/^list-unsubscribe: <https:\/\/example\.com\/u>\r$/im);
    expect(raw).toMatch(/^x-priority: 1/im);
    expect(raw).not.toContain('hidden@example.net');
    expect(await server.statusOf(info.messageId, 'hidden@example.net')).not.toBe('');
  });

  it.each(['raw', 'envelope', 'messageId', 'alternatives'])(
    'refuses %s rather than dropping it',
    async (name) => {
      const transporter = nodemailer.createTransport(postriderTransport(postrider));
      const value = name === 'envelope' ? { from: 'shop@example.com', to: ['x@example.net'] } : 'x';
      const mail = { from: 'shop@example.com', to: 'a@example.net', subject: 's', text: 't', [name]: value };
      await expect(transporter.sendMail(mail)).rejects.toThrow(name);
    },
  );

  it.each([
    ['a text', (text: string, _: string) => ({ method: 'request', content: text })],
    ['a file', (_: string, path: string) => ({ method: 'request', path, filename: 'meeting.ics' })],
  ])('sends an invitation that is given as %s', async (_, eventOf) => {
    const transporter = nodemailer.createTransport(postriderTransport(postrider));
    const text = ['BEGIN:VCALENDAR', 'METHOD:REQUEST', 'END:VCALENDAR', ''].join('\r\n');
    const folder = await temporaryFolder(scope);
    const path = join(folder, 'event.ics');
    await writeFile(path, text);
    const mail = { from: 'shop@example.com', to: 'guest@example.net', subject: 'Meeting', text: 'Come.' };
    const { messageId } = await transporter.sendMail({ ...mail, icalEvent: eventOf(text, path) });
    const sent = new TextDecoder().decode(await postrider.messages.raw(messageId));
    const types = [...sent.matchAll(/^Content-Type: ([a-z/]+)/gim)].map(([, type]) => type);
    expect(types).toEqual([
      ...['multipart/mixed', 'multipart/alternative', 'text/plain', 'text/calendar', 'application/ics'],
    ]);
    expect(sent).toMatch(/^Content-Type: text\/calendar;(?:\s+charset=utf-8;)?\s+method=REQUEST\b/im);
    expect(sent.split(Buffer.from(text).toString('base64'))).toHaveLength(3);
  });

  it('verifies that the server takes the token', async () => {
    await expect(nodemailer.createTransport(postriderTransport(postrider)).verify()).resolves.toBe(true);
    const wrong = nodemailer.createTransport(postriderTransport({ ...options, token: 'wrong' }));
    await expect(wrong.verify()).rejects.toMatchObject({ status: 401 });
    const error = await new Promise((done) => wrong.verify(done));
    expect(error).toMatchObject({ status: 401 });
  });

  it("hands the server's refusal on", async () => {
    const transporter = nodemailer.createTransport(postriderTransport(postrider));
    const mail = { from: 'shop@elsewhere.example', to: 'a@example.net', subject: 's', text: 't' };
    await expect(transporter.sendMail(mail)).rejects.toMatchObject({ status: 403 });
  });
});

describe('the package', () => {
  it('builds to plain JavaScript with types that a strict project takes', async () => {
    const folder = await temporaryFolder(scope);
    const run = promisify(execFile);
    const tsc = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
    const packaged = join(folder, 'node_modules', 'postrider');
    await mkdir(packaged, { recursive: true });
    await run(process.execPath, [
      tsc,
      '-p',
      join(ROOT, 'tsconfig.client.json'),
      '--outDir',
      join(packaged, 'dist', 'client'),
    ]);
    const { exports } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'));
    await writeFile(
      join(packaged, 'package.json'),
      JSON.stringify({ name: 'postrider', version: '0.0.0', type: 'module', exports }),
    );
    await writeFile(
      join(folder, 'app.ts'),
      `import { createPostrider, verifyWebhook } from 'postrider/client';
import { postriderTransport } from 'postrider/nodemailer';
const postrider = createPostrider({ baseUrl: process.argv[2]!, token: process.argv[3]! });
const me = await postrider.me();
const name: string = me.Domains[0]!.Domain;
postrider.send({
  From: { email: 'a@example.com' }, To: [], KeepContent: false, TemplateID: 't', TemplateVersion: 1, StrictVariables: true,
}).catch(() => {});
const contents = async (id: string): Promise<string | null> => (await postrider.messages.get(id)).HTMLContent;
// @ts-expect-error the client knows its fields
await postrider.suppressions.add([{ Emial: 'x' }]).catch(() => {});
console.log(name, contents.length, typeof verifyWebhook, typeof postriderTransport(postrider).send);
`,
    );
    await writeFile(join(folder, 'package.json'), '{"type":"module"}');
    await symlink(join(ROOT, 'node_modules', '@types'), join(folder, 'node_modules', '@types'));
    const flags = ['--strict', '--noEmit', '--target', 'es2022', '--module', 'nodenext', '--types', 'node'];
    await run(process.execPath, [tsc, ...flags, join(folder, 'app.ts')], { cwd: folder });
    const { stdout } = await run(process.execPath, [join(folder, 'app.ts'), options.baseUrl, options.token]);
    expect(stdout).toBe('example.com 1 function function\n');
  });
});
