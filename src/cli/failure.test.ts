import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { reportFailure } from './failure.ts';

it.each([
  ['ENOENT', 'there is no such file or folder'],
  ['EACCES', 'permission denied'],
  ['ENOSPC', 'the disk is full'],
])('names the file and why for %s', (code, why) => {
  const stderr = new PassThrough();
  const cause = Object.assign(new Error(`${code}: words of Node, open '/srv/b1.part'`), {
    ...{ code, syscall: 'open', path: '/srv/b1.part' },
  });
  expect(reportFailure(cause, { stderr: stderr as never, environment: {} }, false)).toBe(1);
  expect(String(stderr.read())).toBe(`postrider: /srv/b1.part cannot be used: ${why} (open)\n`);
});
