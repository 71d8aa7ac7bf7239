/**
 * The server is killed under load, at every named point and at moments of chance, and started again on the same
 * folder. Afterwards both ends are counted: nothing acknowledged is lost, nothing arrives that was not sent, a second
 * copy comes only with its mark, and a client that asks again with its key gets the same answer.
 */
import { afterEach, describe, expect, it } from 'vitest';
import { type SmtpSink, startSmtpSink } from '../fakes/smtp-sink.ts';
import { type Load, type Posted, postAgain, startLoad } from './load.ts';
import { type Figures, reckon, reclaimedRows } from './reckoning.ts';
import {
  addDomain,
  makeDataFolder,
  queueEmpty,
  type ServerProcess,
  startServerProcess,
  until,
} from './server-process.ts';

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** The same numbers in [0, 1) in every run (a linear congruential generator). */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

interface Bench {
  sink: SmtpSink;
  start(env?: Record<string, string>): Promise<ServerProcess>;
}

async function prepare(): Promise<Bench> {
  const folder = await makeDataFolder();
  cleanups.push(folder.remove);
  const sink = await startSmtpSink();
  cleanups.push(() => sink.close());
  return {
    sink,
    async start(env = {}) {
      const server = await startServerProcess({
        data: folder.path,
        env: { POSTRIDER_ROUTE: `smtp://127.0.0.1:${sink.port}`, POSTRIDER_RETRY: '200ms', ...env },
      });
      cleanups.push(() => server.kill());
      return server;
    },
  };
}

/** Asks again for everything that had no answer, and for some that had; gives the books with those answers in. */
async function askAgain(server: ServerProcess, posted: readonly Posted[]): Promise<Posted[]> {
  const books: Posted[] = [];
  let replays = 0;
  for (const one of posted) {
    const unanswered = one.messageId === null;
    if (!unanswered && replays++ >= 20) {
      books.push(one);
      continue;
    }
    const again = await postAgain(server, one);
    expect(again.status, `${one.key} asked again`).toBe(200);
    if (!unanswered) {
      expect(again.messageId, `${one.key} asked again`).toBe(one.messageId);
      expect(again.headers['idempotency-replayed']).toBe('true');
    }
    books.push(again);
  }
  return books;
}

function report(what: string, figures: Figures, posted: readonly Posted[], rows: number): void {
  const open = posted.filter((one) => one.messageId === null).length;
  process.stdout.write(
    `  ${what}: ${posted.length} requests, ${open} without answer; ${figures.recipients} recipients accepted, ` +
      `${JSON.stringify(figures.final)}; ${rows} leases taken back, ${figures.duplicates} second copies\n`,
  );
}

/** Restarts after a kill, waits until all is done, and counts. */
async function recoverAndCount(bench: Bench, load: Load, what: string): Promise<Posted[]> {
  await load.stop();
  const server = await bench.start();
  const books = await askAgain(server, load.posted);
  await queueEmpty(server);
  const figures = await reckon(server, bench.sink, books);
  const rows = reclaimedRows(server);
  expect(figures.acknowledged).toBe(load.posted.length);
  expect(figures.final).toEqual({ delivered: figures.recipients });
  expect(figures.duplicates).toBeLessThanOrEqual(rows);
  report(what, figures, load.posted, rows);
  const exit = await server.terminate();
  expect(exit.code).toBe(0);
  return books;
}

describe('a server killed under load', () => {
  it.each(['after-commit:40', 'after-data-sent:60', 'after-remote-250:60'])(
    'loses nothing it acknowledged when it dies at %s',
    async (failpoint) => {
      const bench = await prepare();
      const server = await bench.start({ POSTRIDER_FAILPOINT: failpoint });
      await addDomain(server);
      const load = startLoad(server, { posters: 8, name: failpoint.replace(':', '-') });
      const exit = await server.exited;
      expect(exit.signal).toBe('SIGKILL');
      const books = await recoverAndCount(bench, load, failpoint);
      if (!failpoint.startsWith('after-commit')) return;
      // Committed, never answered: asking again finds the message instead of making a second one.
      const unanswered = new Set(load.posted.filter((one) => one.messageId === null).map((one) => one.key));
      const found = books.filter((one) => unanswered.has(one.key) && one.headers['idempotency-replayed']);
      expect(found.length).toBeGreaterThan(0);
    },
  );

  it('loses nothing over several deaths at moments of chance', async () => {
    const draw = seeded(20);
    const bench = await prepare();
    let server = await bench.start();
    await addDomain(server);
    let books: Posted[] = [];
    let rows = 0;
    for (let round = 0; round < 4; round++) {
      const load = startLoad(server, { posters: 8, name: `round${round}` });
      const enough = 20 + Math.floor(draw() * 150);
      await until(`${enough} acknowledged`, 20_000, () => load.acknowledged >= enough);
      await server.kill();
      await load.stop();
      server = await bench.start();
      rows += reclaimedRows(server);
      books = [...books, ...(await askAgain(server, load.posted))];
    }
    await queueEmpty(server);
    const figures = await reckon(server, bench.sink, books);
    expect(figures.acknowledged).toBe(books.length);
    expect(figures.final).toEqual({ delivered: figures.recipients });
    expect(figures.duplicates).toBeLessThanOrEqual(rows);
    report('four deaths', figures, books, rows);
    expect((await server.terminate()).code).toBe(0);
  });
});
