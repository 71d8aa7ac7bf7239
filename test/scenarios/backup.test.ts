/** A backup made beside a running server is that server again, somewhere else. */
import { spawnSync } from 'node:child_process';
import { chown, lstat, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, it } from 'vitest';
import { readTarHeader, TAR_BLOCK, TAR_END, tarPadding } from '../../src/lib/tar.ts';
import { takeLock } from '../../src/store/sqlite/engine/lock.ts';
import { command, startCommand } from './commands.ts';
import {
  addDomain,
  email,
  fileScope,
  makeToken,
  request,
  startInstance,
  temporaryFolder,
  until,
} from './harness.ts';

const scope = fileScope();
const hasTar = spawnSync('tar', ['--version']).status === 0;

it('comes back with its tokens, domains and messages, and holds back what waited', async () => {
  const folder = await temporaryFolder(scope);
  // Nothing listens on port 1, so what is accepted waits.
  const server = await startInstance(scope, { folder, settings: { route: 'smtp://127.0.0.1:1' } });
  await addDomain(server, 'example.com');
  const token = await makeToken(server, { Domains: ['example.com'], Preset: 'Full' });
  const sent = await server.call('POST', '/email', { body: email(), token });
  expect(sent.status).toBe(200);

  const own = await server.call('POST', '/queue/hold', {
    body: { SenderDomain: 'other.example', Reason: 'wrong price' },
  });
  const file = join(await temporaryFolder(scope), 'copy');
  // Somebody who may write to that folder, too, knows the names of what a backup makes there.
  const theirs = join(await temporaryFolder(scope), 'theirs');
  await writeFile(theirs, 'as it was');
  for (const end of ['.part', '.db.part']) await symlink(theirs, `${file}${end}`);
  const made = await command(['backup', file, '--data', folder, '--json']);
  expect(made).toMatchObject({ code: 0 });
  expect(await readFile(theirs, 'utf8')).toBe('as it was');
  expect((await lstat(file)).isFile()).toBe(true);
  expect(JSON.parse(made.stdout).Files).toEqual(['secret-key', 'node-id', 'admin-token', 'postrider.db']);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  const [list, ...files] = entriesOf(await readFile(file));
  expect([list?.name, ...files.map(({ name }) => name)]).toEqual([
    'backup.json',
    ...JSON.parse(made.stdout).Files,
  ]);
  expect((await command(['backup', file, '--data', folder])).stderr).toContain('exists already');
  const nowhere = join(folder, 'bakcups', 'copy');
  await server.call('POST', '/email', { body: email(), token });
  const followed = await server.call('GET', '/events?After=0');
  const mistyped = await command(['backup', nowhere, '--data', folder]);
  expect([mistyped.code, mistyped.stderr]).toEqual([
    1,
    `postrider: there is no folder ${join(folder, 'bakcups')}; make it, or correct the path\n`,
  ]);
  await expect(stat(join(folder, 'bakcups'))).rejects.toThrow('ENOENT');
  await server.stop();

  const elsewhere = join(await temporaryFolder(scope), 'data');
  expect((await command(['restore', file, '--data', folder])).stderr).toContain('is not empty');
  const away = { POSTRIDER_DATABASE: `sqlite:${join(folder, 'away.db')}` };
  expect((await command(['restore', file, '--data', elsewhere], away)).stderr).toContain(
    'remove that key, and repeat the command',
  );
  const restored = await command(['restore', file, '--data', elsewhere]);
  expect(restored).toMatchObject({ code: 0 });
  const other = join(await temporaryFolder(scope), 'data');
  const json = await command(['restore', file, '--data', other, '--json']);
  expect(JSON.parse(json.stdout)).toMatchObject({ Waiting: 1, Held: true });

  const again = await startInstance(scope, { folder: elsewhere, settings: { route: 'smtp://127.0.0.1:1' } });
  // Whose copy it is was running, and still is.
  expect(again.logs.filter(({ msg }) => msg.startsWith('the last run ended'))).toEqual([]);
  const message = await request('GET', `${again.server.localUrl}/api/v1/email/${sent.json.MessageID}`, {
    token,
  });
  expect(message.status).toBe(200);
  // What was sent after the backup has its numbers in return paths and links, and whoever follows events knows the last one.
  const next = await again.call('POST', '/email', { body: email(), token });
  const after = `/events?After=${followed.headers.get('x-next-after')}`;
  expect((await again.call('GET', after)).json.Events).toMatchObject([
    { Message: { Headers: { MessageId: next.json.MessageID } } },
  ]);
  expect((await again.call('GET', '/domains/example.com')).json.Status).toBe('Verified');
  // The command that is printed leaves the holds of before the backup.
  const [, HoldID] = /queue release ([0-9a-f-]+) --data/.exec(restored.stdout) ?? [];
  expect((await again.call('POST', '/queue/release', { body: { HoldID } })).json).toEqual({ Released: 1 });
  expect((await again.call('GET', '/queue/holds')).json.Items).toMatchObject([{ HoldID: own.json.HoldID }]);
  expect(await readFile(join(elsewhere, 'admin-token'), 'utf8')).toBe(
    await readFile(join(folder, 'admin-token'), 'utf8'),
  );
});

it('works without a server, and refuses what was altered, cut off or is no backup', async () => {
  const folder = await temporaryFolder(scope);
  await (await startInstance(scope, { folder })).stop();
  const file = join(await temporaryFolder(scope), 'copy');
  expect(await command(['backup', file, '--data', folder])).toMatchObject({ code: 0 });
  const lock = takeLock(join(folder, 'postrider.db'));
  const early = await command(['status', '--data', folder]);
  expect([early.code, early.stderr]).toEqual([
    1,
    expect.stringContaining('while it starts, wait until its log says'),
  ]);
  lock.release();
  const status = await command(['status', '--data', folder]);
  expect([status.code, status.stdout]).toEqual([
    1,
    expect.stringMatching(/^FAIL {2}No server runs on .*: nothing is accepted or sent here/),
  ]);
  for (const shown of [['messages'], ['queue'], ['causes']]) {
    const { stderr } = await command([...shown, '--data', folder]);
    expect(stderr).toBe(`No server runs on ${folder}: nothing is sent until one runs.\n`);
  }
  const whole = await readFile(file);
  const refusal = async (bytes: Uint8Array) => {
    const bad = join(await temporaryFolder(scope), 'bad');
    await writeFile(bad, bytes);
    const data = await temporaryFolder(scope);
    const result = await command(['restore', bad, '--data', data]);
    expect(result.code).toBe(1);
    return result.stderr;
  };
  const altered = Buffer.from(whole);
  altered[whole.length - 3000] = ~(altered[whole.length - 3000] ?? 0) & 0xff;
  expect(await refusal(altered)).toContain('a checksum does not match');
  expect(await refusal(whole.subarray(0, whole.length - 3000))).toContain('is cut off');
  expect(await refusal(whole.subarray(0, 4096))).toContain('is not where it should be');
  expect(await refusal(Buffer.from('hello'))).toContain('has only 5 octets: it is cut off, or not a backup');
  const ofFolder = await command(['restore', folder, '--data', await temporaryFolder(scope)]);
  expect(ofFolder).toMatchObject({ code: 1, stderr: expect.stringContaining('is a folder') });
  const schema = /(?<="schema": )\d+/;
  const newer = whole.toString('latin1').replace(schema, (digits) => '9'.repeat(digits.length));
  expect(await refusal(Buffer.from(newer, 'latin1'))).toContain('made by a newer postrider');
});

it('continues a restore that was killed, and no server starts on what it left', async () => {
  const folder = await temporaryFolder(scope);
  await (await startInstance(scope, { folder })).stop();
  const file = join(await temporaryFolder(scope), 'copy');
  expect(await command(['backup', file, '--data', folder])).toMatchObject({ code: 0 });
  const data = await temporaryFolder(scope);
  const left = ['.node-id.restoring', '.postrider.db.restoring'];
  // The last ones where it was killed while it changed the database.
  for (const name of ['secret-key', ...left, '.postrider.db.restoring-shm', '.postrider.db.restoring-wal'])
    await writeFile(join(data, name), 'half');
  const early = await command(['domain', 'add', 'example.com', '--data', data]);
  expect([early.code, early.stderr]).toEqual([
    1,
    expect.stringContaining('is not finished. If it was cut off, run it again'),
  ]);
  const lock = takeLock(join(data, 'postrider.db'));
  expect((await command(['restore', file, '--data', data])).stderr).toContain('is in use');
  lock.release();
  expect(await command(['restore', file, '--data', data])).toMatchObject({ code: 0 });
  expect((await readdir(data)).sort()).toEqual([
    'admin-token',
    'node-id',
    'postrider.db',
    'postrider.db-lock',
    'secret-key',
  ]);
  expect(await readFile(join(data, 'secret-key'), 'utf8')).toBe(
    await readFile(join(folder, 'secret-key'), 'utf8'),
  );
});

it.skipIf(process.getuid?.() !== 0)(
  'leaves the files with the account of the folder if root runs it',
  async () => {
    const folder = await temporaryFolder(scope);
    await (await startInstance(scope, { folder })).stop();
    const file = join(await temporaryFolder(scope), 'copy');
    expect(await command(['backup', file, '--data', folder])).toMatchObject({ code: 0 });
    const data = await temporaryFolder(scope);
    await chown(data, 65_534, 65_534);
    const others = async () => {
      const names = await readdir(data);
      const owners = await Promise.all(names.map(async (name) => (await stat(join(data, name))).uid));
      return names.filter((_, i) => owners[i] !== 65_534);
    };
    expect(await command(['restore', file, '--data', data])).toMatchObject({ code: 0 });
    expect(await others()).toEqual([]);
    expect(await command(['queue', '--data', data])).toMatchObject({ code: 0 });
    expect(await others()).toEqual([]);
    expect(await readdir(data)).toContain('postrider.db-lock');
  },
);

it('names the database that cannot be copied', async () => {
  const folder = await temporaryFolder(scope);
  await (await startInstance(scope, { folder })).stop();
  const database = join(folder, 'postrider.db');
  const whole = await readFile(database);
  const to = await temporaryFolder(scope);
  await writeFile(database, Buffer.concat([whole.subarray(0, 8192), whole.subarray(8192).fill(0x55)]));
  expect(await command(['backup', join(to, 'copy'), '--data', folder])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(`${database} cannot be copied: the database is damaged`),
  });
  await writeFile(
    database,
    'this is no database, but some text that is long enough to be read as a header of one',
  );
  expect((await command(['backup', join(to, 'copy'), '--data', folder])).stderr).toContain(
    `${database} cannot be copied: the database is damaged`,
  );
  expect(await readdir(to)).toEqual([]);
});

it('leaves nothing behind if it is interrupted', async () => {
  const folder = await temporaryFolder(scope);
  await (await startInstance(scope, { folder })).stop();
  const db = new DatabaseSync(join(folder, 'postrider.db'));
  db.exec('CREATE TABLE filler (bytes BLOB)');
  for (let n = 0; n < 60; n += 1) db.exec('INSERT INTO filler VALUES (randomblob(4000000))');
  db.close();
  const to = await temporaryFolder(scope);
  const { child, ended } = startCommand(scope, ['backup', join(to, 'copy'), '--data', folder]);
  await until('the copy has begun', async () => (await readdir(to)).includes('copy.db.part'));
  // Another one would remove what this one writes.
  expect(await command(['backup', join(to, 'copy'), '--data', folder])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('is being made; wait for it, or choose another name'),
  });
  expect(await readdir(to)).toContain('copy.db.part');
  child.kill('SIGINT');
  await ended;
  expect(child.signalCode).toBe('SIGINT');
  expect(await readdir(to)).toEqual([]);
});

it('reads a backup of version 0.1', async () => {
  const folder = await temporaryFolder(scope);
  await (await startInstance(scope, { folder })).stop();
  const file = join(await temporaryFolder(scope), 'copy');
  expect(await command(['backup', file, '--data', folder])).toMatchObject({ code: 0 });
  const [list, ...files] = entriesOf(await readFile(file));
  const header = JSON.stringify(JSON.parse(list?.content.toString() ?? ''));
  const old = join(await temporaryFolder(scope), 'old');
  await writeFile(
    old,
    Buffer.concat([Buffer.from(`postrider backup\n${header}\n`), ...files.map(({ content }) => content)]),
  );
  const data = await temporaryFolder(scope);
  expect(await command(['restore', old, '--data', data])).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('has no configuration: put your postrider.json there'),
  });
  for (const { name, content } of files) {
    if (name !== 'postrider.db') expect(await readFile(join(data, name))).toEqual(content);
  }
  await (await startInstance(scope, { folder: data })).stop();
});

it.skipIf(!hasTar)('is an archive that tar lists and unpacks', async () => {
  const folder = await temporaryFolder(scope);
  await (await startInstance(scope, { folder })).stop();
  const file = join(await temporaryFolder(scope), 'copy');
  expect(await command(['backup', file, '--data', folder])).toMatchObject({ code: 0 });
  const names = ['backup.json', 'secret-key', 'node-id', 'admin-token', 'postrider.db'];
  expect(spawnSync('tar', ['-tf', file], { encoding: 'utf8' }).stdout.trim().split('\n')).toEqual(names);
  const unpacked = await temporaryFolder(scope);
  expect(spawnSync('tar', ['-xf', file, '-C', unpacked]).status).toBe(0);
  for (const { name, content } of entriesOf(await readFile(file)))
    expect(await readFile(join(unpacked, name))).toEqual(content);
  // Packed again, it is the same backup.
  const again = join(await temporaryFolder(scope), 'again');
  spawnSync('tar', ['--format=ustar', '-cf', again, '-C', unpacked, ...names]);
  const data = await temporaryFolder(scope);
  expect(await command(['restore', again, '--data', data])).toMatchObject({ code: 0 });
});

/** The files of an archive. */
function entriesOf(archive: Buffer): { name: string; content: Buffer }[] {
  const found = [];
  for (let at = 0; ; ) {
    const entry = readTarHeader(archive.subarray(at, at + TAR_BLOCK));
    if (entry === null) {
      expect(archive.subarray(at)).toEqual(TAR_END);
      return found;
    }
    at += TAR_BLOCK;
    found.push({ name: entry.name, content: archive.subarray(at, at + entry.size) });
    at += entry.size + tarPadding(entry.size);
  }
}
