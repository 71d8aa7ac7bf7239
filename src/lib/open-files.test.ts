import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { expect, it } from 'vitest';
import { filesUsedUp, openFileLimit, readOpenFileLimit, tooFewFiles } from './open-files.ts';

it('reads the limit that applies from the table of a process', () => {
  const table = [
    'Limit                     Soft Limit           Hard Limit           Units     ',
    'Max processes             31520                31520                processes ',
    'Max open files            1024                 524288               files     ',
  ];
  expect(readOpenFileLimit(table.join('\n'))).toBe(1024);
  expect(readOpenFileLimit('Max open files            unlimited            unlimited            files')).toBe(
    Number.POSITIVE_INFINITY,
  );
  expect(readOpenFileLimit('')).toBe(Number.POSITIVE_INFINITY);
});

it('tells a process that may open too few to work, and one that has nearly all open', () => {
  expect(tooFewFiles(191)).toMatch(/may open only 191 files \(ulimit -n\).*LimitNOFILE=65536/);
  expect(tooFewFiles(192)).toBeNull();
  expect(filesUsedUp(4)).toMatch(/^this process may open no more files \(EMFILE\)\. Allow it 65536/);
  expect(filesUsedUp(100_000)).toBeNull();
});

it.runIf(existsSync('/proc/self/limits'))('is that of this process', () => {
  const script = `import(${JSON.stringify(import.meta.resolve('./open-files.ts'))}).then((m) => console.log(m.openFileLimit(), m.tooFewFiles() === null))`;
  const shell = 'ulimit -n 345; exec "$0" -e "$1"';
  expect(execFileSync('sh', ['-c', shell, process.execPath, script], { encoding: 'utf8' }).trim()).toBe(
    '345 true',
  );
  expect(openFileLimit()).toBeGreaterThan(0);
});
