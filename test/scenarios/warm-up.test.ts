/** A new source through the whole program: its budget at a provider, what is over, and what is never held up. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createFakeDns } from '../fakes/fake-dns.ts';
import { startSmtpSink } from '../fakes/smtp-sink.ts';
import { addDomain, fileScope, type Instance, startInstance, temporaryFolder, until } from './harness.ts';

const scope = fileScope();
/** 50 a day: an hour's worth at once is three. */
const AT_ONCE = 3;

async function start(routing: object, settings: Record<string, string> = {}) {
  const far = await startSmtpSink();
  const dns = await createFakeDns({
    'big.example': { MX: ['mta1.am0.yahoodns.net'] },
    'mta1.am0.yahoodns.net': { A: ['127.0.0.1'] },
    'small.example': { A: ['127.0.0.1'] },
  });
  scope.defer(() => Promise.all([far.close(), dns.close()]));
  const folder = await temporaryFolder(scope);
  writeFileSync(join(folder, 'postrider.json'), JSON.stringify(routing));
  const options = {
    folder,
    settings: {
      route: 'mx',
      dns: dns.text,
      'mx-port': String(far.port),
      'allow-networks': '127.0.0.0/8',
      ...settings,
    },
  };
  const server = await startInstance(scope, options);
  const token = await addDomain(server, 'example.com');
  return { far, server, token, options };
}

const NEW = { id: 'fresh', address: '127.0.0.9', newSince: '2026-01-01' };

function sendMany(server: Instance, token: string, count: number): Promise<string[]> {
  return Promise.all(
    Array.from({ length: count }, (_, i) =>
      server.send({ To: [{ email: `r${i}@big.example` }], Priority: 'bulk' }, { token }),
    ),
  );
}

describe('a source that is declared new', () => {
  it('sends a provider what its budget allows, and the rest waits with that reason', async () => {
    const { far, server, token, options } = await start({ sources: [NEW] });
    const ids = await sendMany(server, token, 8);
    await until('the first ones are there', async () => far.messages.length === AT_ONCE);
    const path = await until('the path says why', async () => {
      const { Items } = (await server.call('GET', '/queue/paths')).json;
      return Items.find(({ Reason }: { Reason: string | null }) => /warm-up/.test(Reason ?? '')) ?? null;
    });
    expect(path.Reason).toMatch(/warm-up of fresh: 50 a day to yahoo/);
    const { Queues } = (await server.call('GET', '/queue')).json;
    expect(Queues.map(({ NextDueAt }: { NextDueAt: string }) => NextDueAt)).toEqual([path.WaitsUntil]);

    // One-time codes and sites without a provider's rules do not wait for it.
    const code = await server.send({ To: [{ email: 'code@big.example' }], Priority: 'critical' }, { token });
    const other = await server.send({ To: [{ email: 'r@small.example' }] }, { token });
    for (const id of [code, other]) expect((await server.settled(id)).Status).toBe('Delivered');
    expect(far.messages).toHaveLength(AT_ONCE + 2);
    const [view] = (await server.call('GET', '/warmup')).json.Items;
    expect(view).toMatchObject({ Source: 'fresh', Provider: 'yahoo', Budget: 50, Used: AT_ONCE + 1 });

    // A restart gives nothing out twice.
    await server.stop();
    const again = await startInstance(scope, options);
    await until('the rest waits again', async () => {
      const { Items } = (await again.call('GET', '/queue/paths')).json;
      return Items.some(({ Reason }: { Reason: string | null }) => /warm-up/.test(Reason ?? '')) || null;
    });
    expect(far.messages).toHaveLength(AT_ONCE + 2);
    expect(ids).toHaveLength(8);
  });

  it('leaves what is over to a warm source of its pool', async () => {
    const { far, server, token } = await start({ sources: [NEW, { id: 'warm', address: '127.0.0.10' }] });
    const ids = await sendMany(server, token, 40);
    for (const id of ids) expect((await server.settled(id)).Status).toBe('Delivered');
    expect(far.messages).toHaveLength(40);
    const used = (await server.call('GET', '/warmup')).json.Items[0]?.Used ?? 0;
    expect(used).toBeLessThanOrEqual(AT_ONCE);
  });

  it('leaves it to a relay where the route names one', async () => {
    const relay = await startSmtpSink();
    scope.defer(() => relay.close());
    const { far, server, token } = await start(
      { sources: [NEW] },
      { route: `mx,smtp://127.0.0.1:${relay.port}` },
    );
    const ids = await sendMany(server, token, 12);
    for (const id of ids) expect((await server.settled(id)).Status).toBe('Delivered');
    expect(far.messages.length).toBeLessThanOrEqual(AT_ONCE);
    expect(far.messages.length + relay.messages.length).toBe(12);
  });
});
