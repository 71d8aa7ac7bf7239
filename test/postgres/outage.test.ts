/**
 * The database goes away while the server runs, and comes back: its machine fails, or the network between loses everything.
 * Clients are told to come back, nothing is sent that could not be recorded, outcomes wait, and all goes on by itself.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startCluster, type TestCluster } from '../../src/store/postgres/test-cluster.ts';
import { proxyTo } from '../../src/store/postgres/test-proxy.ts';
import { describePostgres } from '../../src/store/postgres/test-support.ts';
import { createBenches } from '../chaos/bench.ts';
import { askAgain, startLoad } from '../chaos/load.ts';
import { reckon } from '../chaos/reckoning.ts';
import { addDomain as addDomainTo, queueEmpty } from '../chaos/server-process.ts';
import { openLineClient } from '../fakes/smtp-line-client.ts';
import { startSmtpSink } from '../fakes/smtp-sink.ts';
import { command } from '../scenarios/commands.ts';
import { email, fileScope, type Instance, startInstance, until } from '../scenarios/harness.ts';
import { startReceiver } from '../scenarios/webhook-receiver.ts';
import { emptyDatabase } from './databases.ts';

const scope = fileScope();

/** What a client gets by HTTP. */
const postTo = (instance: Instance, to: string) =>
  instance.call('POST', '/email', { body: email({ To: [{ email: to }] }) });

/** The last reply to one message by SMTP. */
async function submit(instance: Instance, to: string): Promise<string> {
  const smtp = await openLineClient(instance.server.submission.plain?.port ?? 0);
  try {
    await smtp.reply();
    await smtp.ask('EHLO client.test');
    const data = `From: sender@example.com\r\nTo: ${to}\r\nSubject: by SMTP\r\n\r\nText\r\n`;
    return await smtp.transact({ from: 'sender@example.com', to: [to], data });
  } finally {
    smtp.close();
  }
}

/** The reply to a login by SMTP. */
async function logIn(instance: Instance, username: string): Promise<string> {
  const smtp = await openLineClient(instance.server.submission.plain?.port ?? 0);
  try {
    await smtp.reply();
    await smtp.ask('EHLO client.test');
    return await smtp.ask(`AUTH PLAIN ${Buffer.from(`\0${username}\0password`).toString('base64')}`);
  } finally {
    smtp.close();
  }
}

/** The lines of /metrics, asked without a token. */
async function metricsOf(instance: Instance): Promise<string[]> {
  const answer = await fetch(`${instance.server.localUrl}/metrics`);
  expect(answer.status).toBe(200);
  return (await answer.text()).split('\n');
}

async function unready(instance: Instance): Promise<string[]> {
  const answer = await fetch(`${instance.server.localUrl}/readyz`);
  const { Checks } = (await answer.json()) as { Checks: { Name: string; Ok: boolean }[] };
  return Checks.filter(({ Ok }) => !Ok).map(({ Name }) => Name);
}

describePostgres('a database that goes away', () => {
  let cluster: TestCluster;
  beforeAll(async () => {
    cluster = await startCluster();
  });
  afterAll(() => cluster?.remove());

  it('makes clients come back by HTTP and SMTP, and webhooks and delivery go on with it', async () => {
    const sink = await startSmtpSink();
    scope.defer(() => sink.close());
    const receiver = await startReceiver(scope);
    const instance = await startInstance(scope, {
      mode: 'dev',
      settings: {
        database: cluster.url,
        route: `smtp://127.0.0.1:${sink.port}`,
        retry: '100ms',
        'allow-networks': '127.0.0.0/8',
        'metrics-from': '127.0.0.0/8',
      },
    });
    await instance.call('POST', '/domains', { body: { Domain: 'example.com', Verified: true } });
    await instance.call('POST', '/webhooks', {
      body: { Event: 'delivered', WebhookURL: receiver.url, Domain: 'example.com' },
    });
    expect((await postTo(instance, 'first@far.test')).status).toBe(200);
    await receiver.next('the first call', ({ json }) => JSON.stringify(json).includes('first@far.test'));

    await cluster.stop('immediate');
    const refused = await postTo(instance, 'second@far.test');
    expect(refused.status).toBe(503);
    expect(refused.headers.get('retry-after')).toMatch(/^[0-9]+$/);
    expect((await instance.call('GET', '/email')).status).toBe(503);
    expect(await submit(instance, 'second@far.test')).toMatch(/^451 4\.3\.2/);
    expect(await logIn(instance, 'smtp-0123456789ab')).toMatch(/^451 4\.3\.2/);
    expect(await unready(instance)).toContain('store');
    expect((await fetch(`${instance.server.localUrl}/healthz`)).status).toBe(200);
    // The command asks the server itself what fails.
    const told = await until('the checks name the database', async () => {
      const { stderr } = await command(['queue', '--data', instance.folder]);
      return stderr.includes('cannot be reached') || stderr.includes('failed') ? stderr : null;
    });
    expect(told).toMatch(/What fails there \(\/readyz\):\n.*\bstore: .*database/);
    expect(told).not.toContain('disk');
    // What an alert rule asks for while the database is away.
    await until('it is in doubt', async () =>
      (await metricsOf(instance)).includes('postrider_node_in_doubt 1'),
    );
    const waiting = (line: string) => line.startsWith('postrider_queue_waiting ');
    expect((await metricsOf(instance)).filter(waiting)).toEqual([]);

    await cluster.start();
    await until('mail is taken again', async () => (await postTo(instance, 'third@far.test')).status === 200);
    expect(await submit(instance, 'fourth@far.test')).toMatch(/^250/);
    for (const name of ['third', 'fourth'])
      await receiver.next(`the call of ${name}`, ({ json }) =>
        JSON.stringify(json).includes(`${name}@far.test`),
      );
    expect(await unready(instance)).toEqual([]);
    expect((await metricsOf(instance)).filter(waiting)).toHaveLength(1);
    await instance.stop();
    // Every job fails many times meanwhile; its line is written once, without a stack.
    const failed = instance.logs.filter(({ msg }) => msg.startsWith('queue sweep failed'));
    expect(failed).toEqual([expect.objectContaining({ reason: expect.stringContaining('database') })]);
    const withStack = instance.logs.filter(
      ({ level, err }) => (level === 'error' || level === 'warn') && err !== undefined,
    );
    expect(withStack).toEqual([]);
  });

  it('loses and repeats nothing under load, whether it stops in order or fails', async () => {
    const benches = createBenches();
    scope.defer(() => benches.clear());
    const bench = await benches.prepare();
    const database = await emptyDatabase(scope, cluster.url);
    const server = await bench.start({ POSTRIDER_DATABASE: database });
    await addDomainTo(server);
    const load = startLoad(server, { posters: 6, name: 'away', insist: true });
    for (const how of ['fast', 'immediate'] as const) {
      const taken = load.acknowledged;
      await until('mail is taken', () => load.acknowledged >= taken + 50);
      const refused = load.posted.filter(({ status }) => status === 503).length;
      await cluster.stop(how);
      await until(
        'many are refused',
        () => load.posted.filter(({ status }) => status === 503).length > refused + 50,
      );
      const sent = bench.sink.counts.messages;
      await until(
        'many more are refused',
        () => load.posted.filter(({ status }) => status === 503).length > refused + 150,
      );
      // What was in flight: a message on each connection to the relay, and one behind it.
      expect(bench.sink.counts.messages - sent).toBeLessThanOrEqual(40);
      await cluster.start();
    }
    const taken = load.acknowledged;
    await until('mail is taken again', () => load.acknowledged >= taken + 50);
    await load.stop();
    const refused = load.posted.filter(({ messageId }) => messageId === null);
    expect(
      refused.filter(({ status, headers }) => status !== 503 || headers['retry-after'] === undefined),
    ).toEqual([]);
    await queueEmpty(server);
    const books = await askAgain(server, load.posted);
    await queueEmpty(server);
    const figures = await reckon(server, bench.sink, books);
    expect(figures.final).toEqual({ delivered: figures.recipients });
    expect(figures.duplicates).toBe(0);
    expect((await server.terminate()).code).toBe(0);
  });

  it('is not waited for by those who ask where the network loses everything', async () => {
    const proxy = await proxyTo(await emptyDatabase(scope, cluster.url));
    scope.defer(proxy.close);
    const instance = await startInstance(scope, { settings: { database: proxy.url } });
    await instance.call('POST', '/domains', { body: { Domain: 'example.com', Verified: true } });
    await instance.settled(await instance.send());
    proxy.swallow();
    expect((await postTo(instance, 'lost@far.test')).status).toBe(503);
    await until('it is known', async () => (await unready(instance)).includes('store'));
    // Far more than there are connections, each of which would be waited for.
    const answers = await Promise.all(Array.from({ length: 100 }, () => instance.call('GET', '/email')));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([503]));
    proxy.resume();
    await until(
      'mail is taken again',
      async () => (await postTo(instance, 'reader@far.test')).status === 200,
    );
    await instance.stop();
  });

  it.each(['shut', 'swallow'] as const)('does not keep a server from stopping: %s', async (how) => {
    const proxy = await proxyTo(await emptyDatabase(scope, cluster.url));
    scope.defer(proxy.close);
    const instance = await startInstance(scope, { settings: { database: proxy.url } });
    proxy[how]();
    await instance.stop();
    expect(instance.logs.at(-1)?.msg).toBe('stopped');
  });
});
