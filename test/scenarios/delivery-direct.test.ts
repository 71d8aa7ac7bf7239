/** Direct delivery: the recipient's MX hosts from DNS, in order, and the answers that end a delivery at once. */
import { beforeAll, describe, expect, it } from 'vitest';
import { createFakeDns, type FakeDns } from '../fakes/fake-dns.ts';
import { type SmtpSink, startSmtpSink } from '../fakes/smtp-sink.ts';
import { addDomain, fileScope, type Instance, startInstance, until } from './harness.ts';
import { dkimVerdict } from './signed-mail.ts';

const scope = fileScope();
let dns: FakeDns;
let sink: SmtpSink;
let second: SmtpSink;
let server: Instance;
let token: string;

beforeAll(async () => {
  sink = await startSmtpSink();
  second = await startSmtpSink({ host: '127.0.0.2', port: sink.port });
  dns = await createFakeDns({
    'one.example': { MX: ['mx.one.example'] },
    'mx.one.example': { A: ['127.0.0.1'] },
    'implicit.example': { A: ['127.0.0.1'] },
    'backup.example': {
      MX: [
        [10, 'dead.backup.example'],
        [20, 'alive.backup.example'],
      ],
    },
    'dead.backup.example': { A: ['127.0.0.3'] },
    'alive.backup.example': { A: ['127.0.0.2'] },
    'null.example': { MX: ['.'], A: ['127.0.0.1'] },
    'private.example': { MX: ['mx.private.example'] },
    'mx.private.example': { A: ['10.1.2.3'] },
    'flaky.example': { MX: ['mx.one.example'] },
  });
  server = await startInstance(scope, {
    settings: {
      route: 'mx',
      dns: dns.text,
      'mx-port': String(sink.port),
      'allow-networks': '127.0.0.0/8',
      retry: '200ms',
    },
  });
  token = await addDomain(server, 'example.com');
  scope.defer(() => Promise.all([sink.close(), second.close(), dns.close()]));
});

const sendTo = (address: string) => server.send({ To: [{ email: address }] }, { token });
const onlyRecipient = async (id: string) => (await server.settled(id)).Recipients[0];

describe('direct delivery', () => {
  it('goes to the MX host of the recipient’s domain, signed', async () => {
    const id = await sendTo('a@one.example');
    expect(await onlyRecipient(id)).toMatchObject({ Status: 'Delivered', Route: 'mx' });
    const copy = sink.messages.find(({ rcpts }) => rcpts[0] === 'a@one.example');
    expect(await dkimVerdict(server, 'example.com', copy?.data ?? Buffer.alloc(0))).toBe('pass');
    const items = (await server.call('GET', `/email/${id}/events`, { token })).json.Items;
    expect(items.at(-1).RemoteMta).toContain('mx.one.example');
  });

  it('takes the domain’s own address where there is no MX', async () => {
    expect(await onlyRecipient(await sendTo('a@implicit.example'))).toMatchObject({ Status: 'Delivered' });
  });

  it('tries the hosts in order of preference and goes on to the next', async () => {
    expect(await onlyRecipient(await sendTo('a@backup.example'))).toMatchObject({ Status: 'Delivered' });
    expect(second.messages.map(({ rcpts }) => rcpts[0])).toEqual(['a@backup.example']);
  });

  it('bounces at once where the domain takes no mail (null MX)', async () => {
    const id = await sendTo('a@null.example');
    expect(await onlyRecipient(id)).toMatchObject({ Status: 'Bounced' });
    const items = (await server.call('GET', `/email/${id}/events`, { token })).json.Items;
    expect(items.at(-1).Bounce).toMatchObject({ Class: 'DomainInvalid', EnhancedCode: '5.1.10' });
  });

  it('believes that a domain does not exist only when it hears it twice', async () => {
    const id = await sendTo('a@nowhere.invalid-zone.example');
    expect(await onlyRecipient(id)).toMatchObject({ Status: 'Bounced' });
    const kinds = (await server.call('GET', `/email/${id}/events`, { token })).json.Items.map(
      ({ Event }: { Event: string }) => Event,
    );
    expect(kinds).toEqual(['accepted', 'deferred', 'bounced']);
    const logged = server.logs.filter(({ messageId }) => messageId === id).map(({ msg }) => msg);
    expect(logged).toEqual(kinds);
  });

  it('never connects to private networks that DNS points to', async () => {
    const id = await sendTo('a@private.example');
    expect(await onlyRecipient(id)).toMatchObject({ Status: 'Bounced' });
    const items = (await server.call('GET', `/email/${id}/events`, { token })).json.Items;
    expect(items.at(-1).Bounce.Class).toBe('RoutingLoop');
  });

  it('waits while DNS fails, and delivers when it is back', async () => {
    dns.fault('flaky.example', { kind: 'servfail' });
    const id = await sendTo('a@flaky.example');
    const waiting = await until('it waits', async () => {
      const [row] = (await server.call('GET', `/email/${id}`, { token })).json.Recipients;
      return row.WaitReason.includes('SERVFAIL') ? row : null;
    });
    // The path is at fault, not the message: no attempt is charged.
    expect(waiting).toMatchObject({ Status: 'Queued', Attempts: 0, Class: 'dns_failure' });
    expect(waiting.WaitReason).toContain('SERVFAIL');
    dns.fault('flaky.example', undefined);
    // A failure is remembered for half a minute at the least.
    const facts = await until(
      'it is delivered',
      async () => (await server.statusOf(id)) === 'Delivered',
      60_000,
    );
    expect(facts).toBe(true);
  });
});
