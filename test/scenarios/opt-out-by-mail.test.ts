/**
 * Opting out by mail to the address in List-Unsubscribe: as long as by the link beside it, so also when the message has
 * long been forgotten; and nobody else is answered for because of it.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { type SmtpSink, startSmtpSink } from '../fakes/smtp-sink.ts';
import { openStoreOf } from './database-of-folder.ts';
import { addDomain, fileScope, type Instance, startInstance, temporaryFolder, until } from './harness.ts';
import { dsn, handIn, plain } from './returns-kit.ts';

const scope = fileScope();
const WISH = plain(['From: reader@reader.example', 'Subject: unsubscribe'], 'Please.');
let far: SmtpSink;
let folder: string;
let server: Instance;
let token: string;

beforeAll(async () => {
  far = await startSmtpSink();
  scope.defer(() => far.close());
  folder = await temporaryFolder(scope);
  server = await start();
  token = await addDomain(server, 'example.com', { Preset: 'Full' });
});

describe('opting out by mail', () => {
  it('works where the message is gone, once, and stops what comes next', async () => {
    const kept = await sent('kept@reader.example');
    const gone = await sent('gone@reader.example');
    expect(await give(kept.optOut)).toMatch(/^250 /);
    await onList('kept@reader.example');
    await forget(1, 2);

    expect((await server.call('GET', `/email/${gone.id}`, { token })).status).toBe(404);
    // A bounce of what nobody remembers is nobody's …
    expect(await give(gone.back, dsn([{ recipient: 'gone@reader.example' }]), '')).toMatch(/^550 5\.1\.1/);
    // … and neither is a program's answer a wish, here as before.
    expect(await give(gone.optOut, dsn([{ recipient: 'gone@reader.example' }]), '')).toMatch(/^250 /);
    for (let time = 0; time < 2; time += 1) expect(await give(gone.optOut)).toMatch(/^250 /);
    await onList('gone@reader.example');
    const { Items } = (await server.call('GET', '/suppressions', { token })).json;
    expect(
      Items.map(({ Email, Reason }: { Email: string; Reason: string }) => `${Email} ${Reason}`).sort(),
    ).toEqual(['gone@reader.example Unsubscribe', 'kept@reader.example Unsubscribe']);
    const events = (await server.call('GET', '/events?Event=unsubscribed&RetrieveCount=100', { token })).json;
    expect(events.TotalRecords).toBe(1);

    const to = { To: [{ email: 'gone@reader.example' }], Priority: 'bulk', From: { email: 'a@example.com' } };
    const body = { ...to, Subject: 's', ContentType: 'Text', PlainContent: 'p' };
    const next = await server.call('POST', '/email', { token, body });
    expect([next.status, next.json.Errors[0].Code]).toEqual([422, 14]);
  });

  it('holds again for whoever was taken off the list meanwhile', async () => {
    const { optOut } = await sent('again@reader.example');
    expect(await give(optOut)).toMatch(/^250 /);
    await onList('again@reader.example');
    expect((await server.call('DELETE', '/suppressions/again@reader.example', { token })).status).toBe(200);
    expect(await give(optOut)).toMatch(/^250 /);
    await onList('again@reader.example');
  });

  it('works as a program writes it for its user: Apple Mail calls that an automatic reply', async () => {
    const { optOut } = await sent('phone@reader.example');
    const marks = ['Auto-Submitted: auto-replied', 'X-Apple-Unsubscribe: true'];
    const text = 'Apple Mail sent this email to unsubscribe from the message “News”.';
    const mail = plain(['From: phone@reader.example', 'Subject: unsubscribe', ...marks], text);
    expect(await give(optOut, mail)).toMatch(/^250 /);
    await onList('phone@reader.example');
  });

  it('is nobody’s once the person was erased', async () => {
    const { optOut } = await sent('erased@reader.example');
    await forget(5);
    expect((await server.call('POST', '/erase', { body: { Email: 'erased@reader.example' } })).status).toBe(
      200,
    );
    expect(await give(optOut)).toMatch(/^550 5\.1\.1/);
  });

  it('is nobody’s either where the message is still there, and what comes back names nobody again', async () => {
    const { id, optOut, back } = await sent('still@reader.example');
    const erased = await server.call('POST', '/erase', { body: { Email: 'still@reader.example' } });
    expect(erased.json).toMatchObject({ Messages: 1, Pending: 0 });
    expect(await give(optOut)).toMatch(/^550 5\.1\.1/);
    expect(await give(back, dsn([{ recipient: 'still@reader.example' }]), '')).toMatch(/^550 5\.1\.1/);
    const { Recipients } = (await server.call('GET', `/email/${id}`, { token })).json;
    expect(JSON.stringify(Recipients)).not.toContain('still@reader.example');
    const { Items } = (await server.call('GET', '/suppressions', { token })).json;
    expect(JSON.stringify(Items)).not.toContain('erased.invalid');
  });
});

function start(): Promise<Instance> {
  return startInstance(scope, {
    folder,
    settings: {
      route: `smtp://127.0.0.1:${far.port}`,
      returns: '127.0.0.1:0',
      'bounce-domain': 'bounces.example.com',
      'public-url': 'https://mail.example.com',
      'allow-networks': '127.0.0.0/8',
    },
  });
}

/** Sends a newsletter; its id, return path and the address for opting out. */
async function sent(email: string): Promise<{ id: string; back: string; optOut: string }> {
  const id = await server.send({ To: [{ email }], ListUnsubscribe: true }, { token });
  expect((await server.settled(id)).Status).toBe('Delivered');
  const copy = far.messages.find(({ rcpts }) => rcpts[0] === email);
  const optOut = /<mailto:([^>?]+)/.exec(copy?.data.toString('latin1') ?? '')?.[1];
  if (copy === undefined || optOut === undefined) throw new Error(`${email} got no address for opting out`);
  return { id, back: copy.from, optOut };
}

/** As retention does it when the time has come. */
async function forget(...seqs: number[]): Promise<void> {
  await server.stop();
  const store = await openStoreOf(folder);
  await store.purgeMessages({ seqs, maxRows: 100 });
  await store.close();
  server = await start();
}

const give = (to: string, data = WISH, from = 'reader@reader.example') =>
  handIn(scope, server.server.returns?.port ?? 0, to, data, from);

const onList = (email: string) =>
  until(`${email} is on the list`, async () => {
    const path = `/suppressions/${encodeURIComponent(email)}`;
    return (await server.call('GET', path, { token })).status === 200;
  });
