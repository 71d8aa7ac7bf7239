import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Connection } from './engine/connection.ts';
import { openDatabase } from './engine/open-database.ts';
import { REASONS_SQL } from './suppressions.ts';
import { temporaryFolder } from './test-support.ts';

describe('query plans over long suppression lists', () => {
  const folder = temporaryFolder();
  let db: Connection;
  beforeAll(() => {
    db = openDatabase(folder.file('store.db'));
  });
  afterAll(() => {
    db.close();
    folder.remove();
  });
  const planOf = (sql: string) =>
    db
      .all<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`, ...Array(sql.split('?').length - 1).fill(1))
      .map((row) => row.detail);

  it('find an address through its key', () => {
    const byKey = /^SEARCH \w+ USING INDEX sqlite_autoindex_suppression_1 \(domain_id=\? AND key=\?\)$/;
    expect(planOf(REASONS_SQL)[0]).toMatch(byKey);
  });
});
