/**
 * The store refuses writes under load: through the failpoint, and on a small file system that really is full (needs
 * the right to mount; skipped with a notice elsewhere). Meanwhile clients get 503 with Retry-After, the process lives,
 * readiness says why, and delivery stops too, because a success that cannot be recorded becomes a duplicate. When
 * writes work again everything goes on by itself and both ends agree.
 */
import { execFile } from 'node:child_process';
import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, describe, expect, it } from 'vitest';
import { createBenches } from './bench.ts';
import { askAgain, post, startLoad } from './load.ts';
import { reckon, reclaimedRows } from './reckoning.ts';
import { addDomain, makeDataFolder, queueEmpty, type ServerProcess, until } from './server-process.ts';

const benches = createBenches();
afterEach(() => benches.clear());

const run = promisify(execFile);
const DISK_BYTES = 32 * 1024 * 1024;
/** Sent or half sent when the store went away, at the most: every connection with one message behind the first. */
const IN_FLIGHT = 2 * 20;

async function unreadyChecks(server: ServerProcess): Promise<string[]> {
  const answer = await server.get('/readyz');
  const { Checks } = JSON.parse(answer.text) as { Checks: { Name: string; Ok: boolean }[] };
  if (answer.status !== 200) expect(answer.headers.get('retry-after')).toMatch(/^[0-9]+$/);
  return Checks.filter((check) => !check.Ok).map((check) => check.Name);
}

/** Mounts a small file system, or gives the reason why not. */
async function mountSmallDisk(): Promise<{ path: string } | { refused: string }> {
  const path = await mkdtemp(join(tmpdir(), 'postrider-disk-'));
  try {
    await run('mount', ['-t', 'tmpfs', '-o', `size=${DISK_BYTES},mode=0700`, 'tmpfs', path]);
  } catch (cause) {
    await rm(path, { recursive: true, force: true });
    return { refused: (cause as Error).message };
  }
  benches.afterwards(async () => {
    await run('umount', [path]);
    await rm(path, { recursive: true, force: true });
  });
  return { path };
}

/** Writes until the disk takes no more. */
async function fillUp(path: string): Promise<void> {
  const file = await open(path, 'a');
  const chunk = Buffer.alloc(4096, 1);
  try {
    for (;;) await file.write(chunk);
  } catch (cause) {
    expect((cause as NodeJS.ErrnoException).code).toBe('ENOSPC');
  } finally {
    await file.close();
  }
}

describe('a store that cannot write', () => {
  it('is answered with 503 until it writes again, and every 200 arrives once', async () => {
    const bench = await benches.prepare();
    const server = await bench.start({ POSTRIDER_FAILPOINT: 'store-write:60:12' });
    await addDomain(server);
    const load = startLoad(server, { posters: 8, name: 'outage', insist: true });
    await until('some are refused', 20_000, () => load.posted.some((one) => one.status === 503));
    const before = load.acknowledged;
    let unready: string[] = [];
    await until('mail is taken again', 30_000, async () => {
      unready = [...new Set([...unready, ...(await unreadyChecks(server))])];
      return load.acknowledged >= before + 100;
    });
    await load.stop();
    expect(unready).toContain('store');

    const refused = load.posted.filter((one) => one.messageId === null);
    for (const one of refused) {
      expect(one.status).toBe(503);
      expect(one.headers['retry-after']).toMatch(/^[0-9]+$/);
    }
    await queueEmpty(server);
    const books = await askAgain(server, load.posted);
    await queueEmpty(server);
    const figures = await reckon(server, bench.sink, books);
    expect(figures.final).toEqual({ delivered: figures.recipients });
    // The outcomes were kept in memory meanwhile, so not even a marked copy is needed.
    expect(figures.duplicates).toBe(0);
    process.stdout.write(
      `  failing writes: ${load.acknowledged} taken, ${refused.length} refused, ${figures.duplicates} second copies\n`,
    );
    expect((await server.terminate()).code).toBe(0);
  });

  it('ends with an error where its writing thread dies, and the next start finishes what that left', async () => {
    const bench = await benches.prepare();
    const server = await bench.start({ POSTRIDER_FAILPOINT: 'store-death:80' });
    await addDomain(server);
    const load = startLoad(server, { posters: 8, name: 'death' });
    const exit = await server.exited;
    await load.stop();
    expect(exit).toMatchObject({ code: 1, signal: null });
    const said = server.lines.filter(({ msg }) => /writing thread of the store died|cannot go on/.test(msg));
    expect(said.map(({ level }) => level)).toEqual(['error', 'error']);
    expect(said[0]?.reason).toContain('store-death');
    expect(server.lines.at(-1)?.msg).toBe('stopped');

    const next = await bench.start();
    const books = await askAgain(next, load.posted);
    await queueEmpty(next);
    const figures = await reckon(next, bench.sink, books);
    expect(figures.acknowledged).toBe(load.posted.length);
    expect(figures.final).toEqual({ delivered: figures.recipients });
    expect(figures.duplicates).toBeLessThanOrEqual(reclaimedRows(next));
    process.stdout.write(
      `  dead writer: ${load.acknowledged} taken, ${reclaimedRows(next)} leases taken back, ${figures.duplicates} second copies\n`,
    );
    expect((await next.terminate()).code).toBe(0);
  });

  it('sends nothing more on a full disk and goes on by itself when there is room', async (context) => {
    const disk = await mountSmallDisk();
    if ('refused' in disk) {
      process.stdout.write(`  SKIPPED full disk: no right to mount a small file system (${disk.refused})\n`);
      context.skip();
      return;
    }
    const bench = await benches.prepare({ data: join(disk.path, 'data') });
    const server = await bench.start();
    await addDomain(server);
    const load = startLoad(server, { posters: 6, name: 'disk', insist: true, textBytes: 4000 });
    await until('some are delivered', 20_000, () => bench.sink.counts.messages >= 50);

    const ballast = join(disk.path, 'ballast');
    await fillUp(ballast);
    await until('the store is known to be full', 20_000, async () =>
      (await unreadyChecks(server)).includes('store'),
    );
    const sentThen = bench.sink.counts.messages;
    const refusedThen = load.posted.filter((one) => one.status === 503).length;
    await until(
      'many more are refused',
      20_000,
      () => load.posted.filter((one) => one.status === 503).length > refusedThen + 100,
    );
    const sentInTheDark = bench.sink.counts.messages - sentThen;
    expect(sentInTheDark).toBeLessThanOrEqual(IN_FLIGHT);
    expect((await server.get('/healthz')).status).toBe(200);

    await rm(ballast);
    const acknowledgedThen = load.acknowledged;
    await until('mail is taken again', 30_000, () => load.acknowledged >= acknowledgedThen + 20);
    await load.stop();
    const refused = load.posted.filter((one) => one.messageId === null);
    for (const one of refused) {
      expect(one.status).toBe(503);
      expect(one.headers['retry-after']).toMatch(/^[0-9]+$/);
    }
    await queueEmpty(server);
    const taken = load.posted.filter((one) => one.messageId !== null);
    const figures = await reckon(server, bench.sink, taken);
    expect(figures.final).toEqual({ delivered: figures.recipients });
    expect(figures.duplicates).toBe(0);
    process.stdout.write(
      `  full disk: ${taken.length} taken, ${refused.length} refused, ${sentInTheDark} sent while full, ` +
        `${figures.duplicates} second copies\n`,
    );
    expect((await server.terminate()).code).toBe(0);

    const data = join(disk.path, 'data');
    await rm(join(data, 'postrider.db-lock'));
    await fillUp(ballast);
    await expect(run('./bin/postrider', ['rollback', '--data', data])).rejects.toThrow(
      /db-lock cannot be locked: the disk is full.*; make room there, then try again/,
    );
  });

  it('takes no more while the disk is nearly full, but finishes what it has', async (context) => {
    const disk = await mountSmallDisk();
    if ('refused' in disk) {
      process.stdout.write(`  SKIPPED nearly full disk: ${disk.refused}\n`);
      context.skip();
      return;
    }
    const bench = await benches.prepare({ data: join(disk.path, 'data') });
    const server = await bench.start();
    await addDomain(server);
    const ballast = await open(join(disk.path, 'ballast'), 'w');
    // 3 % stay free.
    const { stdout } = await run('df', ['--output=avail', '-B1', disk.path]);
    const free = Number(stdout.trim().split('\n').at(-1));
    await ballast.write(Buffer.alloc(free - Math.floor(DISK_BYTES * 0.03), 1));
    await ballast.close();
    await until('acceptance is closed', 15_000, async () =>
      (await unreadyChecks(server)).includes('acceptance'),
    );
    expect(await unreadyChecks(server)).not.toContain('store');
    const answer = await post(server, { key: 'late', recipients: ['late@domain.test'] });
    expect(answer.status).toBe(503);
    await until('the log says so', 15_000, () =>
      server.lines.some(({ msg }) => msg === 'new mail is refused until the disk has room'),
    );
    const backup = (folder: string) =>
      run('./bin/postrider', ['backup', join(folder, 'copy'), '--data', join(disk.path, 'data')]);
    await expect(backup(disk.path)).rejects.toThrow(
      /there is room for 0 MiB.*choose a folder on another disk/,
    );
    const elsewhere = await makeDataFolder();
    benches.afterwards(elsewhere.remove);
    await backup(elsewhere.path);
    await rm(join(disk.path, 'ballast'));
    await until('acceptance is open', 15_000, async () => (await unreadyChecks(server)).length === 0);
    expect((await post(server, { key: 'late', recipients: ['late@domain.test'] })).status).toBe(200);
    await queueEmpty(server);
    expect(bench.sink.counts.messages).toBe(1);
    expect((await server.terminate()).code).toBe(0);
  });
});
