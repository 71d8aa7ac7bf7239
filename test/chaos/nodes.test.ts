/**
 * Two real processes on one store. They share one source address: together they never open more connections than its
 * limit, and when the one that sends is killed, or stops, the other goes on in its place. One that was paused while the
 * other took over begins a new epoch: what it has to say about mail that is not its any more changes nothing.
 */
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, describe, expect, it } from 'vitest';
import type { SinkOptions } from '../fakes/smtp-sink.ts';
import { bothEndsAgree, epochOf, idOf, post, postMany, prepareNodes, senderOf } from './nodes-kit.ts';
import { timeline } from './reckoning.ts';
import { addDomain, makeDataFolder, queueEmpty, type ServerProcess, until } from './server-process.ts';

const LIMIT = 5;
/** What a far end needs for a message, so that connections are worth having. */
const REPLY_MS = 400;

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** Nodes on one file of SQLite. */
async function prepare(options: { sink: SinkOptions; limit: number }) {
  const defer = (end: () => unknown): void => void cleanups.push(end);
  const shared = await makeDataFolder();
  defer(shared.remove);
  const file = join(shared.path, 'shared.db');
  const database = { POSTRIDER_DATABASE: `sqlite:${file}`, POSTRIDER_SHARED_STORE: 'on' };
  return { ...(await prepareNodes({ ...options, database, defer })), database: file };
}

describe('two nodes that share one address', () => {
  it('never have more connections than its limit, and one goes on where the other is killed or stops', async () => {
    const slow = (): Promise<unknown> => new Promise((resolve) => setTimeout(resolve, REPLY_MS));
    const { sink, start } = await prepare({ sink: { hold: slow }, limit: LIMIT });
    const one = await start('one');
    const two = await start('two');
    await addDomain(one);
    const ids = await postMany([one, two], 60);
    await until('all connections of the limit are in use', 60_000, () => sink.counts.peak === LIMIT);
    const first = await senderOf(one);
    const [owner, other] = first === epochOf(one) ? [one, two] : [two, one];
    expect(first).toBe(epochOf(owner));

    // The kernel closes its connections; its lease stands until its beat has stood still for long enough.
    await owner.kill();
    ids.push(...(await postMany([other], 20)));
    await until('the other sends', 60_000, async () => (await senderOf(other)) === epochOf(other));
    await queueEmpty(other, 90_000);
    expect(sink.counts.peak).toBe(LIMIT);
    await bothEndsAgree(other, sink, ids);

    // A clean stop gives the lease away at once, after the last of its connections is closed.
    const third = await start('three');
    ids.push(...(await postMany([other, third], 60)));
    await until('the one with the lease sends', 60_000, () => sink.counts.open > 0);
    expect((await other.terminate()).code).toBe(0);
    await until('the third sends', 60_000, async () => (await senderOf(third)) === epochOf(third));
    await queueEmpty(third, 90_000);
    expect(sink.counts.peak).toBe(LIMIT);
    await bothEndsAgree(third, sink, ids);
    expect((await third.terminate()).code).toBe(0);
  });
});

describe('a node that is paused until others have taken over', () => {
  it('completes nothing that is not its own, and goes on under a new epoch', async () => {
    let answer = (): void => {};
    const answered = new Promise<void>((resolve) => {
      answer = resolve;
    });
    let waiting: Promise<void> | null = answered;
    // The first message is in, but its 250 waits.
    const hold = (): Promise<void> | null => {
      const until = waiting;
      waiting = null;
      return until;
    };
    const { sink, database, start } = await prepare({ sink: { hold }, limit: 1 });
    const paused = await start('paused');
    await addDomain(paused);
    const ids = await postMany([paused], 4);
    await until('the far end has the first message', 60_000, () => sink.counts.messages === 1);
    const other = await start('other');
    const before = epochOf(paused);
    await pauseBetweenWrites(paused, database);

    await until('the other took over', 60_000, () =>
      other.lines.some(({ msg }) => msg === 'a node has gone silent; what it held is taken back'),
    );
    await until('the other has sent everything', 60_000, () => sink.counts.messages === 5);
    await queueEmpty(other);
    // Now the first 250 arrives at a process that cannot read it yet; it is written in the turn that follows.
    answer();
    await new Promise(setImmediate);
    process.kill(paused.pid, 'SIGCONT');
    await until('the paused node has a new epoch', 60_000, () => epochOf(paused) > before);
    // The one that the far end had from the paused node, which need not be the first that was accepted.
    const first = idOf(sink.messages[0]?.data ?? Buffer.alloc(0));
    const kinds = async (id: string) => (await timeline(other, id)).map(({ Event }) => Event);
    await until('its outcome came too late', 60_000, async () =>
      (await kinds(first)).includes('late_outcome'),
    );
    for (const id of ids) {
      expect((await kinds(id)).filter((kind) => kind === 'delivered')).toHaveLength(1);
    }
    // One copy that the paused node had sent, and one of each that the other did.
    expect(sink.counts.messages).toBe(5);
    await bothEndsAgree(other, sink, ids);

    ids.push(await post(paused));
    await queueEmpty(paused);
    await bothEndsAgree(paused, sink, ids);
    for (const server of [paused, other]) expect((await server.terminate()).code).toBe(0);
  });
});

/** A process that is stopped in the middle of a write would keep SQLite's lock as long as it is stopped. */
async function pauseBetweenWrites(server: ServerProcess, database: string): Promise<void> {
  await until('it is paused between two writes', 30_000, () => {
    process.kill(server.pid, 'SIGSTOP');
    const db = new DatabaseSync(database, { timeout: 0 });
    try {
      db.exec('BEGIN IMMEDIATE');
      db.exec('ROLLBACK');
      return true;
    } catch {
      process.kill(server.pid, 'SIGCONT');
      return false;
    } finally {
      db.close();
    }
  });
}
