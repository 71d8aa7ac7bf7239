import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
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
