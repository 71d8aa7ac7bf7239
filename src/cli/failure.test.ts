import { fstatSync } from 'node:fs';
import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { ConfigError } from '../config.ts';
import { reportFailure } from './failure.ts';

it.each([
  ['ENOENT', 'there is no such file or folder'],
  ['EACCES', 'permission denied'],
  ['ENOSPC', 'the disk is full (df -h, df -i)'],
  ['EIO', 'the disk reports errors'],
])('names the file and why for %s', (code, why) => {
  const stderr = new PassThrough();
  const cause = Object.assign(new Error(`${code}: words of Node, open '/srv/b1.part'`), {
    ...{ code, syscall: 'open', path: '/srv/b1.part' },
  });
  expect(reportFailure(cause, { stderr: stderr as never, environment: {} }, false)).toBe(1);
  expect(String(stderr.read())).toBe(`postrider: /srv/b1.part cannot be used: ${why} (open)\n`);
});

it('is an error in the journal of systemd, each line of it', () => {
  const stderr = new PassThrough();
  const { dev, ino } = fstatSync(2);
  const environment = { JOURNAL_STREAM: `${dev}:${ino}` };
  reportFailure(new ConfigError(['a: wrong', 'b: wrong']), { stderr: stderr as never, environment }, false);
  const lines = String(stderr.read()).trimEnd().split('\n');
  expect(lines.length).toBeGreaterThan(1);
  expect(lines.filter((line) => !line.startsWith('<3>'))).toEqual([]);
});
