import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  closeSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../lib/clock.ts';
import { commit, commitOne, message } from '../conformance/fixtures.ts';
import { openSqliteStore } from './open.ts';
import { storeFolder } from './test-support.ts';

/** Root may open every file: it opens them as `nobody`. */
const isRoot = process.getuid?.() === 0;
const OTHER_USER = 65_534;

let folder: ReturnType<typeof storeFolder>;

beforeEach(() => {
  folder = storeFolder();
});

afterEach(() => folder.close());

const open = (path?: string) => folder.open(path);

/** A closed database with some messages; its path. */
async function filled(): Promise<string> {
  const path = folder.file('store.db');
  const store = await open(path);
  await commit(
    store,
    Array.from({ length: 50 }, () => message({ content: new Uint8Array(20_000) })),
  );
  await store.close();
  return path;
}

/** Why opening is refused; the file must stay as it is. */
async function refusal(path: string): Promise<{ reason: string; message: string }> {
  const before = existsSync(path) ? readFileSync(path) : null;
  try {
    await open(path);
  } catch (error) {
    if (before !== null) expect(Buffer.compare(readFileSync(path), before)).toBe(0);
    if (error instanceof Error && 'reason' in error)
      return { reason: String(error.reason), message: error.message };
    throw error;
  }
  throw new Error('The database was opened');
}

describe('opening the SQLite store', () => {
  it('makes files that only their owner can read', async () => {
    const store = await open();
    await commitOne(store);
    for (const suffix of ['', '-wal', '-shm', '-lock']) {
      expect(statSync(folder.file(`store.db${suffix}`)).mode & 0o777).toBe(0o600);
    }
  });

  it('refuses a folder that is not there', async () => {
    const refused = await refusal(folder.file('nowhere/store.db'));
    expect([refused.reason, refused.message]).toEqual([
      'inaccessible',
      expect.stringMatching(/no such file or folder; make the folder \S*nowhere, owned by/),
    ]);
  });

  it('says what to do also where only the file of its lock cannot be written', async () => {
    mkdirSync(folder.file('store.db-lock'));
    const { reason, message } = await refusal(folder.file('store.db'));
    expect(reason).toBe('inaccessible');
    expect(message).toMatch(/store\.db-lock cannot be opened: .*; give it to the user that runs postrider/);
  });

  it.each([
    ['-wal', 'it'],
    ['-shm', 'it'],
    ['-lock-journal', 'the folder \\S+'],
  ])('names the file %s that another user left or prevents, and what to do', async (suffix, what) => {
    await commitOne(await open());
    for (const each of ['', '-lock', '-wal', '-shm']) {
      copyFileSync(folder.file(`store.db${each}`), folder.file(`copy.db${each}`));
      if (isRoot) chownSync(folder.file(`copy.db${each}`), OTHER_USER, OTHER_USER);
    }
    if (isRoot) chownSync(folder.file(''), OTHER_USER, OTHER_USER);
    if (existsSync(folder.file(`copy.db${suffix}`))) chmodSync(folder.file(`copy.db${suffix}`), 0);
    else chmodSync(folder.file(''), 0o555);
    const script = `
      import { openSqliteStore } from ${JSON.stringify(fileURLToPath(new URL('./open.ts', import.meta.url)))};
      import { systemClock } from ${JSON.stringify(fileURLToPath(new URL('../../lib/clock.ts', import.meta.url)))};
      await openSqliteStore({ path: ${JSON.stringify(folder.file('copy.db'))}, clock: systemClock })
        .catch((error) => console.log(error.reason, error.message));`;
    const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
      encoding: 'utf8',
      timeout: 20_000,
      ...(isRoot ? { uid: OTHER_USER, gid: OTHER_USER } : {}),
    });
    chmodSync(folder.file(''), 0o700);
    expect(stdout).toMatch(
      new RegExp(
        `^inaccessible .*copy\\.db${suffix} cannot be opened: permission denied; give ${what} to the user`,
      ),
    );
  });

  it('refuses a second store on the same file until the first is closed', async () => {
    const store = await open();
    const { reason, message } = await refusal(folder.file('store.db'));
    expect(reason).toBe('locked');
    expect(message).toContain('in use by another postrider');
    await commitOne(store);
    await store.close();
    await commitOne(await open());
  });

  it('refuses a second process, and takes over where the first one died', async () => {
    const store = await open();
    const script = `
      import { openSqliteStore } from ${JSON.stringify(fileURLToPath(new URL('./open.ts', import.meta.url)))};
      import { systemClock } from ${JSON.stringify(fileURLToPath(new URL('../../lib/clock.ts', import.meta.url)))};
      const store = await openSqliteStore({ path: ${JSON.stringify(folder.file('store.db'))}, clock: systemClock })
        .catch((error) => { console.log(error.reason); process.exit(3); });
      await store.instanceId({ proposedId: 'from the other process' });
      process.kill(process.pid, 'SIGKILL');`;
    const run = () =>
      spawnSync(process.execPath, ['--input-type=module', '-e', script], {
        encoding: 'utf8',
        timeout: 20_000,
      });
    const refused = run();
    expect(refused.stdout.trim()).toBe('locked');
    expect(refused.status).toBe(3);
    await store.close();
    expect(run().signal).toBe('SIGKILL');
    const after = await open();
    expect(await after.instanceId({ proposedId: 'mine' })).toBe('from the other process');
  }, 60_000);

  it('refuses a database of a newer program', async () => {
    const path = await filled();
    const db = new DatabaseSync(path);
    db.exec("UPDATE meta SET value = 9999 WHERE name = 'schema_version'; PRAGMA wal_checkpoint(TRUNCATE)");
    db.close();
    const { reason, message } = await refusal(path);
    expect(reason).toBe('newer-schema');
    expect(message).toContain('made by a newer postrider');
  });

  it("refuses another program's database", async () => {
    const path = folder.file('store.db');
    const db = new DatabaseSync(path);
    db.exec('CREATE TABLE meta (name TEXT, value TEXT); CREATE TABLE other (id INTEGER)');
    db.close();
    const before = readFileSync(path);
    await expect(open(path)).rejects.toMatchObject({ reason: 'foreign' });
    const untouched = new DatabaseSync(path, { readOnly: true });
    expect(untouched.prepare('SELECT count(*) AS n FROM sqlite_schema').get()).toEqual({ n: 2 });
    untouched.close();
    expect(readFileSync(path).length).toBe(before.length);
  });

  it('refuses a file that is no database', async () => {
    const path = folder.file('store.db');
    writeFileSync(path, 'This is a letter, not a database. '.repeat(200));
    expect((await refusal(path)).reason).toBe('corrupt');
  });

  it('refuses a damaged page and a file that was cut off', async () => {
    const path = await filled();
    const file = openSync(path, 'r+');
    for (let page = 1; page < 30; page++) writeSync(file, Buffer.alloc(8192, 0xa5), 0, 8192, page * 8192);
    closeSync(file);
    const { reason, message } = await refusal(path);
    expect(reason).toBe('corrupt');
    expect(message).toMatch(/errors of its disk .* Otherwise restore a backup/);
    rmSync(path);
    const cut = await filled();
    truncateSync(cut, Math.floor(statSync(cut).size / 2 / 8192) * 8192);
    expect((await refusal(cut)).reason).toBe('corrupt');
  });

  it('refuses a journal whose database is gone instead of starting empty', async () => {
    const path = folder.file('store.db');
    writeFileSync(`${path}-wal`, Buffer.alloc(4096, 1));
    await expect(open(path)).rejects.toMatchObject({ reason: 'corrupt' });
    expect(statSync(`${path}-wal`).size).toBe(4096);
  });

  it('can be opened again after a refusal', async () => {
    const path = folder.file('store.db');
    writeFileSync(path, 'not a database'.repeat(100));
    await expect(open(path)).rejects.toMatchObject({ reason: 'corrupt' });
    rmSync(path);
    await commitOne(await open(path));
  });
});

describe('many operations at once', () => {
  it('answers who reads one thing before hundreds of lists', async () => {
    const store = await open();
    // From a read beside a search on, there are two readers.
    await Promise.all([store.findEvents({ newestFirst: true, look: 1, limit: 1 }), store.lastEventSeq()]);
    const page = { limit: 100, domains: ['example.com'] };
    const late: string[] = [];
    for (const [name, list] of Object.entries({
      audit: () => store.listAudit({ ...page, look: 100 }),
      captures: () => store.capturesSince({ ...page, afterSeq: 0, look: 100 }),
      inboxes: () => store.listInboxes(page),
      smtpCredentials: () => store.listSmtpCredentials(page),
      templates: () => store.listTemplates(page),
      tokens: () => store.listTokens({ ...page, look: 100 }),
      webhooks: () => store.listWebhooks(page),
    })) {
      const answered: string[] = [];
      const lists = Array.from({ length: 200 }, () => list().then(() => answered.push('list')));
      const one = store.getToken({ id: 'none' }).then(() => answered.push('one'));
      await Promise.all([...lists, one]);
      if (answered.at(-1) === 'one') late.push(name);
    }
    expect(late).toEqual([]);
  });

  it('keeps each content with its message, and counts no time of their commits twice', async () => {
    const took: number[] = [];
    const store = await openSqliteStore({
      path: folder.file('store.db'),
      clock: systemClock,
      onCommit: (ms) => took.push(ms),
    });
    const texts = Array.from({ length: 1_500 }, (_, n) => `${n} `.repeat(500));
    const began = systemClock.monotonicMs();
    const committing: ReturnType<typeof commitOne>[] = [];
    for (const [n, text] of texts.entries()) {
      committing.push(commitOne(store, message({ content: Buffer.from(text) })));
      // In small batches, behind which the next is sent ahead.
      if (n % 30 === 29) await new Promise((resolve) => setImmediate(resolve));
    }
    const stored = await Promise.all(committing);
    const elapsed = systemClock.monotonicMs() - began;
    const read = await Promise.all(stored.map(({ seq }) => store.readContent({ messageSeq: seq })));
    await store.close();
    expect(read.map((bytes) => Buffer.from(bytes ?? []).toString())).toEqual(texts);
    expect(took.length).toBeGreaterThan(5);
    expect(took.reduce((sum, ms) => sum + ms, 0)).toBeLessThanOrEqual(elapsed);
  });

  it('commits small contents while large ones are copied, and keeps each large one as it was', async () => {
    const store = await open();
    const large = [1, 2].map((n) => Buffer.alloc(20 * 1024 * 1024, `${n} large `));
    const finished: string[] = [];
    const committing = [...large, Buffer.from('small')].map(async (content, n) => {
      const { seq } = await commitOne(store, { content });
      finished.push(n < large.length ? 'large' : 'small');
      return seq;
    });
    const [first = 0, second = 0] = await Promise.all(committing);
    expect(finished).toEqual(['small', 'large', 'large']);
    for (const [n, messageSeq] of [first, second].entries()) {
      const read = await store.readContent({ messageSeq });
      expect(Buffer.compare(read ?? Buffer.alloc(0), large[n] ?? Buffer.alloc(0))).toBe(0);
    }
  });
});
