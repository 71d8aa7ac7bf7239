import { PassThrough } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import { configText } from './config-command.ts';
import type { Screen } from './terminal.ts';

const about = { environment: 'POSTRIDER_ROUTE', default: 'mx' };
const rows = [
  {
    ...about,
    key: 'route',
    value: 'sandbox',
    source: 'file',
    meaning: `where mail is sent: ${'captured '.repeat(12)}`,
  },
  { ...about, key: 'mx-port', value: '25', source: 'default', default: '25', meaning: 'the `port`' },
  { ...about, key: 'dns', value: null, source: 'environment', default: null, meaning: 'resolvers' },
] as const;

describe('the configuration', () => {
  it('fits a terminal: the meaning of each key is below it, and only what is not the default says so', () => {
    const text = configText(Object.assign(new PassThrough(), { isTTY: true, columns: 60 }) as Screen, rows);
    const plain = stripVTControlCharacters(text);
    expect(Math.max(...plain.split('\n').map((line) => line.length))).toBeLessThanOrEqual(60);
    expect(plain).toContain('route  sandbox  (from file; default: mx)\n    where mail is sent: captured');
    expect(plain).toContain(
      '\nmx-port  25\n    the port\ndns  not set  (from environment; default: not set)\n',
    );
  });

  it('is a table with a line for each key elsewhere', () => {
    const lines = configText(new PassThrough() as Screen, rows).split('\n');
    expect(lines.map((line) => line.split(/ {2,}/)[0])).toEqual(['KEY', 'route', 'mx-port', 'dns']);
  });
});
