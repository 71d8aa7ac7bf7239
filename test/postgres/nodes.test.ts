/**
 * Real processes on one PostgreSQL: one is killed or paused, the database is stopped at once or a standby takes over, and
 * what both ends saw is compared each time. Nodes notice each other five times faster than in life.
 */
import { afterEach, expect, it } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import { openLink } from '../../src/store/postgres/engine/connections.ts';
import { createStatements } from '../../src/store/postgres/engine/db.ts';
import { migrate } from '../../src/store/postgres/engine/migrate.ts';
import { startCluster, type TestCluster } from '../../src/store/postgres/test-cluster.ts';
import { proxyTo } from '../../src/store/postgres/test-proxy.ts';
import { describePostgres } from '../../src/store/postgres/test-support.ts';
import { type Migration, readMigrations, toMigration } from '../../src/store/shared/migrations.ts';
import {
  bothEndsAgree,
  epochOf,
  idOf,
  post,
  postMany,
  prepareNodes,
  SITES,
  senderOf,
} from '../chaos/nodes-kit.ts';
import { timeline } from '../chaos/reckoning.ts';
import { addDomain, queueEmpty, type ServerProcess, until } from '../chaos/server-process.ts';
import type { SinkOptions } from '../fakes/smtp-sink.ts';
import { emptyDatabase, runSql } from './databases.ts';

const LIMIT = 5;
const LONG_MS = 180_000;
/** What a far end needs for a message, so that connections are worth having. */
const REPLY_MS = 300;
const slow = (): Promise<unknown> => new Promise((resolve) => setTimeout(resolve, REPLY_MS));

const cleanups: (() => unknown)[] = [];
const defer = (end: () => unknown): void => void cleanups.push(end);
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** `url`: of a database; a new one of the server of the tests where left out. */
async function prepare(options: { sink?: SinkOptions; url?: string } = {}) {
  const url = options.url ?? (await emptyDatabase({ defer }));
  const { sink = {} } = options;
  return prepareNodes({ sink, limit: LIMIT, database: { POSTRIDER_DATABASE: url }, defer });
}

async function cluster(options: Parameters<typeof startCluster>[0] = {}): Promise<TestCluster> {
  const made = await startCluster(options);
  defer(() => made.remove());
  return made;
}

/** Posts until one message is accepted. */
async function acceptsAgain(node: ServerProcess, ids: string[]): Promise<void> {
  await until('it accepts again', 90_000, async () => {
    const id = await post(node).catch(() => null);
    if (id !== null) ids.push(id);
    return id !== null;
  });
}

const stopAll = async (...nodes: ServerProcess[]): Promise<void> => {
  for (const node of nodes) expect((await node.terminate()).code).toBe(0);
};

describePostgres('several nodes on one PostgreSQL', () => {
  it(
    'share an address without exceeding its limit, and one goes on where the other is killed',
    async () => {
      const { sink, start } = await prepare({ sink: { hold: slow } });
      const [one, two] = [await start('one'), await start('two')];
      await addDomain(one);
      const ids = await postMany([one, two], 40);
      await until('mail is on its way', 60_000, () => sink.counts.open > 0);
      const [owner, other] = (await senderOf(one)) === epochOf(one) ? [one, two] : [two, one];
      await owner.kill();
      ids.push(...(await postMany([other], 20)));
      await until('the other sends', 60_000, async () => (await senderOf(other)) === epochOf(other));
      await queueEmpty(other, 90_000);
      expect(sink.counts.peak).toBeLessThanOrEqual(LIMIT);
      await bothEndsAgree(other, sink, ids);
      await stopAll(other);
    },
    LONG_MS,
  );

  it(
    'share out the sites of an address that all use, also with one that starts later',
    async () => {
      const hold = () => new Promise((resolve) => setTimeout(resolve, 1_000));
      const { sink, start } = await prepare({ sink: { hold } });
      const one = await start('one');
      await addDomain(one);
      const ids: string[] = [];
      // They share only what they have mail for, so it must not run out before the second one has started.
      const keepBusy = async () => {
        while (ids.length - sink.messages.length < 200) {
          ids.push(...(await Promise.all(SITES.map((site) => post(one, site)))));
        }
      };
      await keepBusy();
      const two = await start('two');
      await until('each sends to half of them', 60_000, async () => {
        await keepBusy();
        const { Items } = await one.api<{ Items: { Leases: string[] }[] }>('/nodes');
        const sites = Items.map(({ Leases }) => Leases.filter((name) => name.startsWith('send ')).length);
        return sites.length === 2 && sites.every((count) => count >= 2 && count <= 4);
      });
      await queueEmpty(one, 90_000);
      await bothEndsAgree(one, sink, ids);
      expect(sink.messages.length).toBe(ids.length);
      await stopAll(one, two);
    },
    LONG_MS,
  );

  it(
    'end the epoch of one that was paused: it completes nothing, and begins anew',
    async () => {
      let answer = (): void => {};
      let waiting: Promise<void> | null = new Promise<void>((resolve) => {
        answer = resolve;
      });
      // The first message is in, but its 250 waits.
      const hold = (): Promise<void> | null => {
        const until = waiting;
        waiting = null;
        return until;
      };
      const { sink, start } = await prepare({ sink: { hold } });
      const paused = await start('paused');
      await addDomain(paused);
      const ids = await postMany([paused], 4);
      await until('the far end has the messages', 60_000, () => sink.counts.messages === 4);
      const other = await start('other');
      const before = epochOf(paused);
      process.kill(paused.pid, 'SIGSTOP');
      await until('the other took over', 60_000, () =>
        other.lines.some(({ msg }) => msg === 'a node has gone silent; what it held is taken back'),
      );
      await queueEmpty(other, 60_000);
      answer();
      await new Promise(setImmediate);
      process.kill(paused.pid, 'SIGCONT');
      await until('the paused node has a new epoch', 60_000, () => epochOf(paused) > before);
      const first = idOf(sink.messages[0]?.data ?? Buffer.alloc(0));
      const kinds = async (id: string) => (await timeline(other, id)).map(({ Event }) => Event);
      await until('its outcome came too late', 60_000, async () =>
        (await kinds(first)).includes('late_outcome'),
      );
      ids.push(await post(paused));
      await queueEmpty(paused);
      await bothEndsAgree(paused, sink, ids);
      await stopAll(paused, other);
    },
    LONG_MS,
  );

  it(
    'lose nothing where one is paused in the middle of commits, or the network swallows what it asks',
    async () => {
      const url = await emptyDatabase({ defer });
      const proxy = await proxyTo(url);
      defer(() => proxy.close());
      const { sink, start } = await prepare({ sink: { hold: slow }, url });
      const [well, ill] = [await start('well'), await start('ill', { POSTRIDER_DATABASE: proxy.url })];
      await addDomain(well);
      const ids: string[] = [];
      let unanswered = 0;
      const silences = () =>
        well.lines.filter(({ msg }) => msg === 'a node has gone silent; what it held is taken back').length;
      const troubles: [begin: () => void, end: () => void][] = [
        [() => process.kill(ill.pid, 'SIGSTOP'), () => process.kill(ill.pid, 'SIGCONT')],
        [proxy.swallow, proxy.resume],
      ];
      for (const [begin, end] of troubles) {
        const before = epochOf(ill);
        const seen = silences();
        // All at once, so that some are being committed when it begins.
        const posts = Array.from({ length: 24 }, () =>
          post(ill).then(
            (id) => void ids.push(id),
            () => {
              unanswered += 1;
            },
          ),
        );
        await Promise.race(posts);
        begin();
        await until('the other took over', 60_000, () => silences() > seen);
        ids.push(...(await postMany([well], 5)));
        end();
        await Promise.all(posts);
        await until('it has a new epoch', 60_000, () => epochOf(ill) > before);
        await acceptsAgain(ill, ids);
      }
      await queueEmpty(well, 90_000);
      await bothEndsAgree(well, sink, ids, unanswered);
      await stopAll(well, ill);
    },
    LONG_MS,
  );

  it(
    'have roles of their own: one accepts, up to the queue limit, and one delivers what it is told of',
    async () => {
      const { sink, start } = await prepare();
      const accepts = { POSTRIDER_ROLES: 'http', POSTRIDER_QUEUE_LIMIT: '3' };
      const front = await start('front', accepts);
      await addDomain(front);
      const ids = await postMany([front], 4);
      // It counts what waits although it delivers nothing.
      await until('it refuses more', 30_000, async () => {
        try {
          ids.push(await post(front));
          return false;
        } catch (error) {
          return String(error).includes('503');
        }
      });
      const back = await start('back', { POSTRIDER_ROLES: 'deliver' });
      await queueEmpty(back, 60_000);
      await bothEndsAgree(front, sink, ids);
      await acceptsAgain(front, ids);
      await until('it is delivered', 30_000, () => sink.messages.length === ids.length);
      await queueEmpty(back);
      await bothEndsAgree(front, sink, ids);
      await stopAll(front, back);
    },
    LONG_MS,
  );

  it(
    'send from addresses that are theirs alone, and go on with those whose node lives',
    async () => {
      const { sink, start } = await prepare();
      const sources = [
        { id: 'a', address: '127.0.0.1', node: 'one' },
        { id: 'b', address: '127.0.0.2', node: 'two' },
      ];
      const one = await start('one', { POSTRIDER_NODE_NAME: 'one' }, { sources });
      const two = await start('two', { POSTRIDER_NODE_NAME: 'two' }, { sources });
      await addDomain(one);
      const ids = await postMany([one, two], 20);
      await queueEmpty(one, 90_000);
      await bothEndsAgree(one, sink, ids);
      const senders = () => new Set(sink.messages.map(({ remoteAddress }) => remoteAddress));
      expect(senders()).toEqual(new Set(['127.0.0.1', '127.0.0.2']));
      await two.kill();
      const from = sink.messages.length;
      ids.push(...(await postMany([one], 20)));
      await queueEmpty(one, 90_000);
      await bothEndsAgree(one, sink, ids);
      expect(new Set(sink.messages.slice(from).map(({ remoteAddress }) => remoteAddress))).toEqual(
        new Set(['127.0.0.1']),
      );
      await stopAll(one);
    },
    LONG_MS,
  );

  it(
    'see no problem in mail that waits for the one that sends it by the relay',
    async () => {
      const looked = Promise.withResolvers<void>();
      const { sink, start } = await prepare({ sink: { hold: () => looked.promise } });
      const route = { POSTRIDER_ROUTE: `smtp://127.17.0.1:${sink.port}` };
      const [one, two] = [
        await start('one', route, { sources: [] }),
        await start('two', route, { sources: [] }),
      ];
      await addDomain(one);
      const ids = await postMany([one, two], 4);
      await until('mail is on its way', 60_000, () => sink.counts.open > 0);
      const other = (await senderOf(one)) === epochOf(one) ? two : one;
      // More than the memory of the node that sends takes of a slow relay: the rest waits in the store.
      await until('mail waits for the node that sends', 60_000, async () => {
        ids.push(...(await Promise.all(Array.from({ length: 25 }, () => post(other)))));
        const { Items } = await other.api<{ Items: { WaitsFor: string }[] }>('/queue/paths');
        const { Waiting } = await other.api<{ Waiting: { critical: number } }>('/attention');
        return Waiting.critical > 0 && Items.some(({ WaitsFor }) => WaitsFor === 'lease');
      });
      const { Items } = await other.api<{ Items: { Kind: string }[] }>('/attention');
      expect(Items.filter(({ Kind }) => Kind === 'relay' || Kind === 'site')).toEqual([]);
      looked.resolve();
      await queueEmpty(one, 90_000);
      await bothEndsAgree(one, sink, ids);
      await stopAll(one, two);
    },
    LONG_MS,
  );

  it(
    'go by the clock of the database where theirs are half a minute apart',
    async () => {
      const { sink, start } = await prepare();
      const early = await start('early', { AHEAD_MS: '-15000' });
      const late = await start('late', { AHEAD_MS: '15000' });
      await addDomain(early);
      const ids = await postMany([early, late], 10);
      await queueEmpty(early, 60_000);
      await bothEndsAgree(late, sink, ids);
      const { Items } = await early.api<{ Items: { HeartbeatAt: string }[] }>('/nodes');
      for (const { HeartbeatAt } of Items) {
        expect(Math.abs(Date.parse(HeartbeatAt) - Date.now())).toBeLessThan(10_000);
      }
      await stopAll(early, late);
    },
    LONG_MS,
  );

  it(
    'lose nothing and go on by themselves where the database is stopped at once and started again',
    async () => {
      const server = await cluster();
      const { sink, start } = await prepare({ sink: { hold: slow }, url: server.url });
      const [one, two] = [await start('one'), await start('two')];
      await addDomain(one);
      const ids = await postMany([one, two], 40);
      await until('mail is on its way', 60_000, () => sink.counts.open > 0);
      const epochs = [one, two].map(epochOf);
      await server.stop('immediate');
      await expect(post(one)).rejects.toThrow('503');
      await server.start();
      for (const node of [one, two]) {
        await acceptsAgain(node, ids);
      }
      await queueEmpty(one, 90_000);
      await bothEndsAgree(one, sink, ids);
      // The same server, with everything that it acknowledged: nobody begins anew.
      expect([one, two].map(epochOf)).toEqual(epochs);
      await stopAll(one, two);
    },
    LONG_MS,
  );

  it(
    'of neighbouring versions work side by side, and one that slept through a change it cannot work with ends',
    async () => {
      const url = await emptyDatabase({ defer });
      const { sink, start } = await prepare({ sink: { hold: slow }, url });
      const [one, two] = [await start('one'), await start('two')];
      await addDomain(one);
      const ids = await postMany([one, two], 20);
      const known = readMigrations('postgres');
      const harmless = toMigration(
        9998,
        `-- works with programs since ${known.at(-1)?.version}\nALTER TABLE delivery ADD COLUMN later int4 NOT NULL DEFAULT 0`,
      );
      const breaking = toMigration(9999, 'ALTER TABLE delivery RENAME COLUMN state TO stage');
      const newer = async (changes: readonly Migration[], waitMs?: number) => {
        const link = await openLink(url, createStatements(), 'cold');
        await migrate(link, { migrations: [...known, ...changes], clock: systemClock, waitMs }).finally(() =>
          link.end(),
        );
      };
      await Promise.all([newer([harmless]), postMany([one, two], 10).then((more) => ids.push(...more))]);
      await stopAll(one);
      const three = await start('three');
      ids.push(...(await postMany([two, three], 10)));
      await queueEmpty(two, 90_000);
      await bothEndsAgree(two, sink, ids);
      await stopAll(three);
      await expect(newer([harmless, breaking], 0)).rejects.toThrow(
        'Servers of an older version work on the database',
      );
      process.kill(two.pid, 'SIGSTOP');
      await newer([harmless, breaking]);
      process.kill(two.pid, 'SIGCONT');
      expect((await two.exited).code).toBe(1);
      await expect(start('four')).rejects.toThrow("reason: 'newer-schema'");
    },
    LONG_MS,
  );

  for (const how of ['synchronous', 'asynchronous'] as const) {
    it(
      `go over to a ${how} standby that takes over, in a new epoch`,
      async () => {
        const primary = await cluster();
        const standby = await cluster({ standbyOf: primary });
        if (how === 'synchronous') {
          await runSql(
            primary.url,
            "ALTER SYSTEM SET synchronous_standby_names = '*'",
            'SELECT pg_reload_conf()',
          );
        }
        const url = primary.url.replace(/host=.*/, `host=${primary.folder},${standby.folder}`);
        const { sink, start } = await prepare({ sink: { hold: slow }, url });
        const [one, two] = [await start('one'), await start('two')];
        await addDomain(one);
        const ids = await postMany([one, two], 30);
        await until('mail is on its way', 60_000, () => sink.counts.open > 0);
        const epochs = [one, two].map(epochOf);
        // Without waiting for the standby, the last moments may be missing there: these have had time.
        await until('the standby has everything', 60_000, async () => {
          const [row] = await runSql(
            primary.url,
            'SELECT replay_lsn >= pg_current_wal_flush_lsn() AS same FROM pg_stat_replication',
          );
          return (row as { same: string } | undefined)?.same === 't';
        });
        await primary.stop('immediate');
        await standby.promote();
        for (const [i, node] of [one, two].entries()) {
          await acceptsAgain(node, ids);
          await until('it has begun a new epoch', 60_000, () => epochOf(node) > (epochs[i] ?? 0));
        }
        await queueEmpty(one, 90_000);
        await bothEndsAgree(one, sink, ids);
        await stopAll(one, two);
      },
      LONG_MS,
    );
  }
});
