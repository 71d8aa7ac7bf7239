import { chown, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { writeWhole } from './whole-file.ts';

it('replaces a file with its mode, and leaves nothing else behind, also where it fails', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'postrider-whole-'));
  const file = join(folder, 'a');
  await writeWhole(file, 'one', 0o644);
  await writeWhole(file, 'two', 0o600);
  expect([await readFile(file, 'utf8'), (await stat(file)).mode & 0o777]).toEqual(['two', 0o600]);
  await expect(writeWhole(folder, 'three', 0o600)).rejects.toThrow();
  expect(await readdir(folder)).toEqual(['a']);
  await rm(folder, { recursive: true });
});

it('does not write through a link at the place of its temporary file, and keeps the owner', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'postrider-whole-'));
  const [file, other] = [join(folder, 'a'), join(folder, 'other')];
  await writeFile(other, 'not to be touched', { mode: 0o644 });
  await writeFile(file, 'one');
  // Only root may give a file away.
  const owner = process.getuid?.() === 0 ? 4321 : (await stat(file)).uid;
  await chown(file, owner, (await stat(file)).gid);
  await symlink(other, join(folder, '.a.new'));
  await writeWhole(file, 'two', 0o600);
  expect([await readFile(file, 'utf8'), (await stat(file)).uid]).toEqual(['two', owner]);
  expect([await readFile(other, 'utf8'), (await stat(other)).mode & 0o777]).toEqual([
    'not to be touched',
    0o644,
  ]);
  await rm(file);
  await chown(folder, owner, (await stat(folder)).gid);
  await writeWhole(file, 'three', 0o600);
  expect((await stat(file)).uid).toBe(owner);
  expect(await readdir(folder)).toEqual(['a', 'other']);
  await rm(folder, { recursive: true });
});
