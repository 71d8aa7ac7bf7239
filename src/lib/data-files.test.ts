import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { makeFolder } from './data-files.ts';

it('makes a folder and those above it for their owner, and says why it cannot', () => {
  const root = mkdtempSync(join(tmpdir(), 'folder-'));
  const path = join(root, 'a', 'b');
  makeFolder(path);
  makeFolder(path);
  expect([path, join(root, 'a')].map((each) => statSync(each).mode & 0o777)).toEqual([0o700, 0o700]);
  writeFileSync(join(root, 'file'), '');
  expect(() => makeFolder(join(root, 'file'))).toThrow('EEXIST');
  expect(() => makeFolder(join(root, 'file', 'c'))).toThrow('ENOTDIR');
  rmSync(root, { recursive: true });
});

it.runIf(process.platform === 'linux')('ends where nothing can be made', () => {
  expect(() => makeFolder('/proc/postrider/data')).toThrow('ENOENT');
});
