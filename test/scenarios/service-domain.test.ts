/** The operator's second signature, and the pause when receivers reject the sender's authentication. */
import { beforeAll, describe, expect, it } from 'vitest';
import { createFakeDns, type FakeDns } from '../fakes/fake-dns.ts';
import { type ScriptedMx, startScriptedMx } from '../fakes/scripted-mx.ts';
import { type SmtpSink, startSmtpSink } from '../fakes/smtp-sink.ts';
import { addDomain, fileScope, type Instance, startInstance, until } from './harness.ts';
import { dkimVerdict, readMail } from './signed-mail.ts';

const scope = fileScope();
let dns: FakeDns;
let sink: SmtpSink;
let strict: ScriptedMx;
let server: Instance;
let token: string;

beforeAll(async () => {
  sink = await startSmtpSink();
  // The same port at another address of this machine.
  strict = await startScriptedMx(
    {
      rcpt: '550 5.7.26 This mail has been blocked because the sender is unauthenticated (SPF and DKIM failed)',
    },
    { host: '127.0.0.2', port: sink.port },
  );
  dns = await createFakeDns({
    'one.example': { MX: ['mx.one.example'] },
    'strict.example': { MX: ['mx.strict.example'] },
    'mx.strict.example': { A: ['127.0.0.2'] },
    'mx.one.example': { A: ['127.0.0.1'] },
  });
  server = await startInstance(scope, {
    settings: {
      route: 'mx',
      dns: dns.text,
      'mx-port': String(sink.port),
      'allow-networks': '127.0.0.0/8',
      'service-domain': 'post.test',
      retry: '200ms',
    },
  });
  token = await addDomain(server, 'example.com');
  scope.defer(() => Promise.all([sink.close(), strict.close(), dns.close()]));
});

async function copyFor(address: string): Promise<Buffer> {
  await server.settled(await server.send({ To: [{ email: address }] }, { token }));
  return Buffer.from(sink.messages.find(({ rcpts }) => rcpts[0] === address)?.data ?? '');
}
const signers = (copy: Buffer) =>
  readMail(copy)
    .header('dkim-signature')
    .map((value) => /\bd=([^;\s]+)/.exec(value)?.[1]);

describe('the service domain', () => {
  it('is added at the start, and signs below the sender once its records are seen', async () => {
    const added = (await server.call('GET', '/domains/post.test')).json;
    expect(added.Status).toBe('Pending');
    expect(signers(await copyFor('early@one.example'))).toEqual(['example.com']);

    for (const { Type, Host, Value } of added.DnsRecords) if (Type === 'TXT') dns.set(Host, { TXT: [Value] });
    expect((await server.call('POST', '/domains/post.test/verify')).json.Status).toBe('Verified');
    const copy = await copyFor('late@one.example');
    expect(signers(copy)).toEqual(['example.com', 'post.test']);
    expect(await dkimVerdict(server, 'example.com', copy)).toBe('pass');
    expect(await dkimVerdict(server, 'post.test', copy)).toBe('pass');
  });
});

describe('replies that authentication failed', () => {
  it('pause the sender’s mail to that receiver, tell it, and let the doctor look', async () => {
    const before = (await server.call('GET', '/domains/example.com')).json;
    expect(before.LastCheckedAt).toBeNull();
    const ids: string[] = [];
    for (let i = 0; i < 3; i++) {
      ids.push(await server.send({ To: [{ email: `a${i}@strict.example` }] }, { token }));
      await server.settled(ids[i] ?? '');
    }
    const [pause] = await until('a pause', async () => {
      const { Items } = (await server.call('GET', '/overrides')).json;
      return Items.length > 0 && Items;
    });
    expect(pause).toMatchObject({ Param: 'suspended', Rule: 'auth_failed' });
    await until(
      'a look',
      async () => (await server.call('GET', '/domains/example.com')).json.LastCheckedAt !== null,
    );
    const checks = (await server.call('GET', '/domains/example.com')).json.Checks;
    expect(checks.find(({ Name }: { Name: string }) => Name === 'dkim1').Status).toBe('Failed');
    await server.send({ To: [{ email: 'b@strict.example' }] }, { token });
    await until('a reason', async () => {
      const { Queues } = (await server.call('GET', '/queue')).json;
      return (
        JSON.stringify(Queues).includes('is paused until') &&
        JSON.stringify(Queues).includes('strict.example')
      );
    });
    const commands = strict.connections.flatMap((connection) => connection.commands);
    expect(commands.filter((command) => command.includes('b@strict.example'))).toEqual([]);
  });
});
