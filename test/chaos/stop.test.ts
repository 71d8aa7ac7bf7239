/**
 * SIGTERM under load: transactions in DATA finish, everything else is given back, and
 * the process ends by itself with exit code 0. Clients meanwhile get 503 with Retry-After or no connection, never
 * silence. The next start finds no lease of the earlier one.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, describe, expect, it } from 'vitest';
import { startScriptedMx } from '../fakes/scripted-mx.ts';
import { createBenches } from './bench.ts';
import { askAgain, startLoad } from './load.ts';
import { reckon, reclaimedRows } from './reckoning.ts';
import { addDomain, MAIN, makeDataFolder, NODE, queueEmpty, until } from './server-process.ts';

const benches = createBenches();
afterEach(() => benches.clear());

const DRAIN_MS = 30_000;

describe('a server that is asked to stop', () => {
  it('while it starts, ends with exit code 0', async () => {
    const { path, remove } = await makeDataFolder();
    benches.afterwards(remove);
    const env = {
      PATH: process.env.PATH,
      POSTRIDER_DATA: path,
      POSTRIDER_HTTP: '127.0.0.1:0',
      POSTRIDER_ROUTE: 'sandbox',
    };
    const child = spawn(NODE, [MAIN, 'serve'], { env, stdio: ['ignore', 'pipe', 'ignore'] });
    benches.afterwards(async () => child.kill('SIGKILL'));
    const ended = once(child, 'exit');
    await once(child.stdout, 'data');
    child.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
  });
});

describe('a server that is asked to stop under load', () => {
  it('drains, ends with exit code 0, and has given every lease back', async () => {
    const bench = await benches.prepare();
    let server = await bench.start();
    await addDomain(server);
    const load = startLoad(server, { posters: 12, name: 'stop', insist: true });
    await until('a hundred are acknowledged', 20_000, () => load.acknowledged >= 100);
    const exit = await server.terminate();
    await load.stop();
    expect(exit).toMatchObject({ code: 0, signal: null });
    expect(exit.tookMs).toBeLessThan(DRAIN_MS);
    for (const one of load.posted) {
      expect(one.outcome, one.key).not.toBe('hung');
      if (one.outcome !== 'answered') continue;
      expect([200, 503]).toContain(one.status);
      if (one.status === 503) expect(one.headers['retry-after']).toMatch(/^[0-9]+$/);
    }

    server = await bench.start();
    expect(reclaimedRows(server)).toBe(0);
    const books = await askAgain(server, load.posted);
    await queueEmpty(server);
    const figures = await reckon(server, bench.sink, books);
    expect(figures.final).toEqual({ delivered: figures.recipients });
    expect(figures.duplicates).toBe(0);
    const of = (outcome: string) => load.posted.filter((one) => one.outcome === outcome).length;
    const late = load.posted.filter((one) => one.status === 503).length;
    process.stdout.write(
      `  SIGTERM under load: gone in ${Math.round(exit.tookMs)} ms; ${load.acknowledged} acknowledged, ` +
        `${late} answered 503, ${of('refused')} refused, ${of('lost')} broken off; 0 second copies\n`,
    );
    expect((await server.terminate()).code).toBe(0);
  });

  it('lets fifty transactions in DATA finish and gives back what was not begun', async () => {
    let release = () => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const slow = await startScriptedMx({ dot: { do: 'wait', until: released, next: '250 2.0.0 kept' } });
    benches.afterwards(() => slow.close());
    const bench = await benches.prepare();
    let server = await bench.start({
      POSTRIDER_ROUTE: `smtp://127.0.0.1:${slow.port}`,
      // One is kept for critical mail.
      POSTRIDER_MAX_CONNECTIONS: '51',
    });
    await addDomain(server);
    const load = startLoad(server, {
      posters: 8,
      name: 'data',
      limit: 200,
      recipients: (n) => [`r${n}@domain.test`],
    });
    await load.done;
    expect(load.acknowledged).toBe(200);
    const inDot = () => slow.connections.filter((one) => one.messages.length > 0).length;
    await until('fifty connections wait for their final reply', 20_000, () => inDot() === 50);
    const ending = server.terminate();
    await until('the server refuses connections', 10_000, () =>
      server.get('/healthz').then(
        () => false,
        () => true,
      ),
    );
    release();
    const exit = await ending;
    expect(exit).toMatchObject({ code: 0, signal: null });
    expect(exit.tookMs).toBeLessThan(DRAIN_MS);
    const taken = slow.connections.reduce((sum, one) => sum + one.messages.length, 0);

    server = await bench.start();
    expect(reclaimedRows(server)).toBe(0);
    await queueEmpty(server);
    const figures = await reckon(server, bench.sink, []).catch((cause: Error) => cause);
    // The slow far end kept some of them, so this one alone does not have all.
    expect(figures).toBeInstanceOf(Error);
    expect(taken + bench.sink.counts.messages).toBe(200);
    const events = await server.api<{ TotalRecords: number }>('/events?Event=delivered&RetrieveCount=1');
    expect(events.TotalRecords).toBe(200);
    process.stdout.write(
      `  SIGTERM with 50 in DATA: ${taken} finished, ${bench.sink.counts.messages} given back and sent after the restart\n`,
    );
    expect((await server.terminate()).code).toBe(0);
  });
});
