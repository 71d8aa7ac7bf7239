import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Connection } from './engine/connection.ts';
import { openDatabase } from './engine/open-database.ts';
import { AMONG_SQL, entryRanges, REASONS_SQL } from './suppressions.ts';
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
    for (const sql of [AMONG_SQL, REASONS_SQL]) {
      expect(planOf(sql)[0]).toMatch(byKey);
    }
  });

  it('page through a domain in order, without sorting', () => {
    const { sql, order } = entryRanges([1], 5, 1, ' AND s.reason = ?', [1]);
    const page = planOf(`${sql} ORDER BY ${order} LIMIT 2`);
    expect(page[0]).toBe('SEARCH s USING INDEX suppression_domain (domain_id=? AND rowid>? AND rowid<?)');
    expect(page.some((step) => step.includes('TEMP B-TREE'))).toBe(false);
  });
});
