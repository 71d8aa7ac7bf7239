/**
 * The server is killed under load, at every named point and at moments of chance, and started again on the same
 * folder. Afterwards both ends are counted: nothing acknowledged is lost, nothing arrives that was not sent, a second
 * copy comes only with its mark, and a client that asks again with its key gets the same answer.
 */
import { afterEach, describe, expect, it } from 'vitest';
import { type Bench, createBenches } from './bench.ts';
import { askAgain, type Load, type Posted, startLoad } from './load.ts';
import { type Figures, reckon, reclaimedRows } from './reckoning.ts';
import { addDomain, queueEmpty, until } from './server-process.ts';

const benches = createBenches();
afterEach(() => benches.clear());

/** The same numbers in [0, 1) in every run (a linear congruential generator). */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

function unansweredOf(posted: readonly Posted[]): Posted[] {
  return posted.filter((one) => one.messageId === null);
}

function report(what: string, figures: Figures, requests: number, open: number, rows: number): void {
  process.stdout.write(
    `  ${what}: ${requests} requests, ${open} without answer; ${figures.recipients} recipients accepted, ` +
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
  report(what, figures, books.length, unansweredOf(load.posted).length, rows);
  const exit = await server.terminate();
  expect(exit.code).toBe(0);
  return books;
}

describe('a server killed under load', () => {
  it.each(['after-commit:40', 'after-data-sent:60', 'after-remote-250:60'])(
    'loses nothing it acknowledged when it dies at %s',
    async (failpoint) => {
      const bench = await benches.prepare();
      const server = await bench.start({ POSTRIDER_FAILPOINT: failpoint });
      await addDomain(server);
      const load = startLoad(server, { posters: 8, name: failpoint.replace(':', '-') });
      const exit = await server.exited;
      expect(exit.signal).toBe('SIGKILL');
      const books = await recoverAndCount(bench, load, failpoint);
      if (!failpoint.startsWith('after-commit')) return;
      // Committed, never answered: asking again finds the message instead of making a second one.
      const unanswered = new Set(unansweredOf(load.posted).map((one) => one.key));
      const found = books.filter((one) => unanswered.has(one.key) && one.headers['idempotency-replayed']);
      expect(found.length).toBeGreaterThan(0);
    },
  );

  it('loses nothing over several deaths at moments of chance', async () => {
    const draw = seeded(20);
    const bench = await benches.prepare();
    let server = await bench.start();
    await addDomain(server);
    let books: Posted[] = [];
    let rows = 0;
    let open = 0;
    for (let round = 0; round < 4; round++) {
      const load = startLoad(server, { posters: 8, name: `round${round}` });
      const enough = 20 + Math.floor(draw() * 150);
      await until(`${enough} acknowledged`, 20_000, () => load.acknowledged >= enough);
      await server.kill();
      await load.stop();
      server = await bench.start();
      rows += reclaimedRows(server);
      open += unansweredOf(load.posted).length;
      books = [...books, ...(await askAgain(server, load.posted))];
    }
    await queueEmpty(server);
    const figures = await reckon(server, bench.sink, books);
    expect(figures.acknowledged).toBe(books.length);
    expect(figures.final).toEqual({ delivered: figures.recipients });
    expect(figures.duplicates).toBeLessThanOrEqual(rows);
    report('four deaths', figures, books.length, open, rows);
    expect((await server.terminate()).code).toBe(0);
  });
});
