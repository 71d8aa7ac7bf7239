/** A lost or wrong instance secret, or a lost database, is reported at the start, and nothing new takes its place. */
import { existsSync } from 'node:fs';
import { readFile, rename, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { factOf } from '../../src/store/sqlite/copy.ts';
import { isOnPostgres } from './database-of-folder.ts';
import { fileScope, startInstance } from './harness.ts';

const scope = fileScope();

describe('a server whose secret', () => {
  it('is gone refuses to start, makes no new one, and starts again once it is back', async () => {
    const first = await startInstance(scope);
    await first.stop();
    const { folder } = first;
    const path = join(folder, 'secret-key');
    const secret = await readFile(path, 'utf8');
    await rm(path);
    await expect(startInstance(scope, { folder })).rejects.toThrow(/secret-key is missing.*Put it back/);
    await expect(readFile(path)).rejects.toThrow('ENOENT');
    await writeFile(path, secret);
    await (await startInstance(scope, { folder })).stop();
  });

  it('is no key says so, and what to do', async () => {
    const first = await startInstance(scope);
    await first.stop();
    const { folder } = first;
    await truncate(join(folder, 'secret-key'), 30);
    await expect(startInstance(scope, { folder })).rejects.toThrow(
      /secret-key does not hold 64 hexadecimal digits\. Put it back from a backup/,
    );
  });

  it('is another one says so; the old one beside the new one is enough', async () => {
    const old = 'a1'.repeat(32);
    const first = await startInstance(scope, { settings: { 'secret-key': old } });
    await first.stop();
    const { folder } = first;
    // The same first digit of their public names or not: both must do.
    for (const fresh of ['b2', 'c3', 'd4'].map((digits) => digits.repeat(32))) {
      const refused = startInstance(scope, { folder, settings: { 'secret-key': fresh } });
      await expect(refused).rejects.toThrow('secret-key=NEW,OLD');
      const both = await startInstance(scope, { folder, settings: { 'secret-key': `${fresh},${old}` } });
      await both.stop();
    }
  });
});

describe.skipIf(isOnPostgres())('a server whose database', () => {
  it.each([
    ['is gone', rm],
    ['is empty', (path: string) => truncate(path)],
  ])(
    '%s refuses to start until it is back, or the token that was made in it is deleted',
    async (_what, lose) => {
      const first = await startInstance(scope);
      await first.stop();
      const { folder } = first;
      const path = join(folder, 'postrider.db');
      const kept = await readFile(path);
      await lose(path);
      await expect(startInstance(scope, { folder })).rejects.toThrow(
        /postrider\.db is missing or empty.*Put that one back/,
      );
      await writeFile(path, kept);
      await (await startInstance(scope, { folder })).stop();
      await lose(path);
      await rm(join(folder, 'admin-token'));
      await (await startInstance(scope, { folder })).stop();
    },
  );

  it('was PostgreSQL last refuses another one', async () => {
    const first = await startInstance(scope);
    await first.stop();
    const { folder } = first;
    const note = join(folder, 'database-server');
    await writeFile(note, '7 0192-other 28075976 7714173566884860836 16384 00000001\n');
    await expect(startInstance(scope, { folder })).rejects.toThrow(
      /was last used with a database of PostgreSQL.*POSTRIDER_DATABASE/,
    );
    await rm(join(folder, 'admin-token'));
    await rename(join(folder, 'postrider.db'), join(folder, 'kept.db'));
    await expect(startInstance(scope, { folder })).rejects.toThrow('was last used');
    expect(existsSync(join(folder, 'postrider.db'))).toBe(false);
    await rename(join(folder, 'kept.db'), join(folder, 'postrider.db'));
    const brought = factOf(join(folder, 'postrider.db'), 'instance_id');
    await writeFile(note, `7 ${brought} 28075976 7714173566884860836 16384 00000001\n`);
    await (await startInstance(scope, { folder })).stop();
  });
});
