/**
 * The server is killed under load, at every named point and at moments of chance, and started again on the same
 * folder. Afterwards both ends are counted: nothing acknowledged is lost, nothing arrives that was not sent, a second
 * copy comes only with its mark, and a client that asks again with its key gets the same answer.
 */
import { afterEach, describe, expect, it } from 'vitest';
import { type Bench, createBenches } from './bench.ts';
import { runCampaign } from './campaign.ts';
import { askAgain, type Load, type Posted, startLoad } from './load.ts';
import { type Figures, reckon, reclaimedRows } from './reckoning.ts';
import { addDomain, queueEmpty } from './server-process.ts';

const benches = createBenches();
afterEach(() => benches.clear());

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

  it('loses nothing of what is in flight to a far end that is far away', async () => {
    const bench = await benches.prepare({ sink: { chunking: true, delayMs: 40 } });
    const server = await bench.start({ POSTRIDER_FAILPOINT: 'after-remote-250:400' });
    await addDomain(server);
    const load = startLoad(server, { posters: 16, name: 'in-flight' });
    expect((await server.exited).signal).toBe('SIGKILL');
    await recoverAndCount(bench, load, 'in flight');
    expect(bench.sink.counts.whole).toBeGreaterThan(100);
  });

  it('loses nothing in a short crash campaign', async () => {
    const { rounds, failed } = await runCampaign({
      ...{ rounds: 4, seed: 20, posters: 8, loadMs: [500, 1500], peak: 0 },
    });
    expect(failed).toEqual([]);
    // Rounds with little to count would prove little.
    for (const { recipients } of rounds) expect(recipients).toBeGreaterThan(100);
  });
});
