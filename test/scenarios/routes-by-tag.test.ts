/** Routes that go by tag, and the sources of a pool that share one sender's mail: through the whole program. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createFakeDns } from '../fakes/fake-dns.ts';
import { startSmtpSink } from '../fakes/smtp-sink.ts';
import { addDomain, fileScope, type Instance, startInstance, temporaryFolder } from './harness.ts';

const scope = fileScope();

async function sink(options: Parameters<typeof startSmtpSink>[0] = {}) {
  const started = await startSmtpSink(options);
  scope.defer(() => started.close());
  return started;
}

async function start(routing: object, settings: Record<string, string>, before?: Instance) {
  const folder = before?.folder ?? (await temporaryFolder(scope));
  writeFileSync(join(folder, 'postrider.json'), JSON.stringify(routing));
  return startInstance(scope, { folder, settings: { retry: '200ms', ...settings } });
}

/** To whom each message went, sorted. */
function taken(far: Awaited<ReturnType<typeof sink>>): string[] {
  return far.messages.flatMap(({ rcpts }) => rcpts).sort();
}

const to = (name: string) => [{ email: `${name}@one.example` }];

interface QueueItem {
  Tags: string[];
  Route: string;
  Waiting: number;
}

async function queues(server: Instance): Promise<QueueItem[]> {
  const items = (await server.call('GET', '/queue')).json.Queues as QueueItem[];
  return items
    .map(({ Tags, Route, Waiting }) => ({ Tags, Route, Waiting }))
    .sort((a, b) => (a.Route < b.Route ? -1 : 1));
}

describe('routes by tag', () => {
  it('take what carries one of their tags, the first rule first, and fail over in order', async () => {
    const [invoices, news, others, down] = [await sink(), await sink(), await sink(), await sink()];
    await down.close();
    const server = await start(
      {
        routes: [
          {
            tag: ['invoice', 'receipt'],
            route: [`smtp://127.0.0.1:${down.port}`, `smtp://127.0.0.1:${invoices.port}`],
          },
          { tag: 'news', priority: 'bulk', route: `smtp://127.0.0.1:${news.port}` },
        ],
      },
      { route: `smtp://127.0.0.1:${others.port}` },
    );
    const token = await addDomain(server, 'example.com');
    const send = (name: string, more: object) => server.send({ To: to(name), ...more }, { token });
    const ids = [
      await send('both', { Tags: ['news', 'receipt'], Priority: 'bulk' }),
      await send('bulk-news', { Tags: ['news', 'x'], Priority: 'bulk', ListUnsubscribe: true }),
      await send('news', { Tags: ['news'] }),
      await send('upper', { Tags: ['Invoice'] }),
      await send('none', {}),
    ];
    for (const id of ids) expect((await server.settled(id)).Status).toBe('Delivered');
    expect(taken(invoices)).toEqual(['both@one.example']);
    expect(taken(news)).toEqual(['bulk-news@one.example']);
    expect(taken(others)).toEqual(['news@one.example', 'none@one.example', 'upper@one.example']);
  });

  it('are followed by what waits when they change at a restart', async () => {
    const [first, second, others] = [await sink(), await sink(), await sink()];
    const settings = { route: `smtp://127.0.0.1:${others.port}` };
    const before = await start(
      { routes: [{ tag: 'invoice', route: `smtp://127.0.0.1:${first.port}` }] },
      { ...settings, roles: 'http' },
    );
    const token = await addDomain(before, 'example.com');
    const send = (name: string, ...Tags: string[]) => before.send({ To: to(name), Tags }, { token });
    const ids = [await send('a', 'invoice'), await send('b', 'news'), await send('c', 'late', 'invoice')];
    ids.push(await send('d'));
    expect(await queues(before)).toEqual([
      { Tags: [], Route: `route smtp://127.0.0.1:${others.port}`, Waiting: 2 },
      { Tags: ['invoice'], Route: `routes[0] smtp://127.0.0.1:${first.port}`, Waiting: 2 },
    ]);
    await before.stop();
    // The rule for invoices is gone, one for news has come, and one that takes some of the invoices.
    const after = await start(
      {
        routes: [
          { tag: 'late', route: `smtp://127.0.0.1:${first.port}` },
          { tag: 'news', route: `smtp://127.0.0.1:${second.port}` },
        ],
      },
      settings,
      before,
    );
    for (const id of ids) expect((await after.settled(id)).Status).toBe('Delivered');
    expect(taken(first)).toEqual(['c@one.example']);
    expect(taken(second)).toEqual(['b@one.example']);
    expect(taken(others)).toEqual(['a@one.example', 'd@one.example']);
  });
});

describe('a pool of several sources', () => {
  it('shares out one sender’s mail to one domain, and each recipient keeps its source', async () => {
    const from = new Map<string, Set<string>>();
    const far = await sink({
      host: '127.0.0.1',
      onMessage: ({ remoteAddress, rcpts }) => {
        for (const rcpt of rcpts) from.set(rcpt, (from.get(rcpt) ?? new Set()).add(remoteAddress));
      },
    });
    const dns = await createFakeDns({ 'one.example': { A: ['127.0.0.1'] } });
    scope.defer(() => dns.close());
    const addresses = ['127.0.71.1', '127.0.71.2', '127.0.71.3'];
    const server = await start(
      { sources: addresses.map((address, i) => ({ id: `s${i}`, address })) },
      { route: 'mx', dns: dns.text, 'mx-port': String(far.port), 'allow-networks': '127.0.0.0/8' },
    );
    const token = await addDomain(server, 'example.com');
    const people = Array.from({ length: 24 }, (_, i) => `r${i}`);
    const ids: string[] = [];
    for (let round = 0; round < 2; round++)
      for (const name of people) ids.push(await server.send({ To: to(name) }, { token }));
    for (const id of ids) expect((await server.settled(id)).Status).toBe('Delivered');
    expect(new Set([...from.values()].map((one) => one.size))).toEqual(new Set([1]));
    expect(new Set([...from.values()].flatMap((one) => [...one]))).toEqual(new Set(addresses));
  });
});
