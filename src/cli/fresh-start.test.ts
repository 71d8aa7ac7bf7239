import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { freshStart } from './fresh-start.ts';

let data = '';
beforeEach(() => {
  data = mkdtempSync(join(tmpdir(), 'fresh-'));
  for (const name of ['postrider.db', 'postrider.db-wal', 'postrider.log', 'node-id', 'secret-key'])
    writeFileSync(join(data, name), '');
});
afterEach(() => rmSync(data, { recursive: true }));

describe('the advice to delete the data folder', () => {
  it('names it where everything in it is of the server', () => {
    expect(freshStart({ data, database: 'sqlite:' })).toBe(
      `; then delete ${data} if you want to start again with no data`,
    );
  });

  it.each(['package.json', '.git', 'postrider-notes.txt'])('is not given beside %s', (name) => {
    writeFileSync(join(data, name), '');
    expect(freshStart({ data, database: 'sqlite:' })).toBe('');
  });

  it.each(['sqlite:/var/lib/other/postrider.db', 'postgres://db.example/postrider'])(
    'is not given where the data is in %s',
    (database) => expect(freshStart({ data, database })).toBe(''),
  );
});
