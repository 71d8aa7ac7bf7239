import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { EXPECTED_SCHEMA, schemaText } from '../../../../docs/generate/schema.ts';
import { readMigrations } from '../../shared/migrations.ts';
import { temporaryFolder } from '../test-support.ts';
import { type Connection, openConnection } from './connection.ts';
import { migrate } from './migrate.ts';

let folder: ReturnType<typeof temporaryFolder>;
let db: Connection;

beforeEach(() => {
  folder = temporaryFolder();
  db = openConnection(folder.file('store.db'), { readOnly: false, busyMs: 0 });
});

afterEach(() => {
  db.close();
  folder.remove();
});

describe('migrations', () => {
  it('are numbered upwards, each number once', () => {
    const versions = readMigrations('sqlite').map((migration) => migration.version);
    expect(versions[0]).toBe(1);
    expect(versions).toEqual([...new Set(versions)].sort((a, b) => a - b));
  });

  it('lead to exactly the expected schema', () => {
    migrate(db, readMigrations('sqlite'));
    expect(schemaText(db)).toBe(readFileSync(EXPECTED_SCHEMA, 'utf8'));
  });

  it('change nothing the second time', () => {
    const version = migrate(db, readMigrations('sqlite'));
    const before = schemaText(db);
    expect(migrate(db, readMigrations('sqlite'))).toBe(version);
    expect(schemaText(db)).toBe(before);
  });

  it('apply each step whole or not at all, and go on from there', () => {
    const first = {
      version: 1,
      sql: 'CREATE TABLE meta (name TEXT PRIMARY KEY, value ANY) STRICT; CREATE TABLE a (x)',
    };
    const broken = { version: 2, sql: 'CREATE TABLE b (x); CREATE TABLE a (y)' };
    expect(() => migrate(db, [first, broken])).toThrow('already exists');
    expect(schemaText(db)).not.toContain('TABLE b');
    expect(migrate(db, [first, { version: 2, sql: 'CREATE TABLE b (x)' }])).toBe(2);
    expect(schemaText(db)).toContain('TABLE b');
  });

  it('give the keys of mail by SMTP to the credential that submitted it', () => {
    const all = readMigrations('sqlite');
    migrate(
      db,
      all.filter(({ version }) => version < 43),
    );
    const message = '0198f000-0000-7000-8000-000000000001';
    db.exec(`
      INSERT INTO smtp_credential (id, username, name, owner, domain, sandbox, salt, hash, cost_log2, created_at)
        VALUES ('cred-a', 'a', 'a', 'maker', 'example.com', 0, x'', x'', 14, 0);
      INSERT INTO name (id, text) VALUES (1, 'cred-a'), (2, 'token');
      INSERT INTO message (seq, id, domain_id, token_name_id, lane, sandbox, needs_smtputf8, body_offset, size, created_at,
          expires_at, from_address, subject, lists)
        VALUES (1, x'${message.replaceAll('-', '')}', 1, 1, 0, 0, 0, 0, 0, 0, 0, '', '', '{}');
      INSERT INTO idempotency (owner, operation, key, fingerprint, status, body, created_at) VALUES
        ('maker', 'SMTP submission', 'k', x'', 200, '{"MessageID":"${message}"}', 0),
        ('maker', 'SMTP submission', 'gone', x'', 200, '{"MessageID":"0198f000-0000-7000-8000-000000000002"}', 0),
        ('maker', 'POST /email', 'k', x'', 200, '{"MessageID":"${message}"}', 0)`);
    migrate(db, all);
    expect(db.all('SELECT owner, operation, key FROM idempotency ORDER BY id')).toEqual([
      { owner: 'cred-a', operation: 'SMTP submission', key: 'k' },
      { owner: 'maker', operation: 'SMTP submission', key: 'gone' },
      { owner: 'maker', operation: 'POST /email', key: 'k' },
    ]);
    expect(db.all('SELECT owner FROM smtp_credential')).toEqual([{ owner: 'cred-a' }]);
  });

  it('refuse a newer schema', () => {
    migrate(db, readMigrations('sqlite'));
    db.run("UPDATE meta SET value = 9999 WHERE name = 'schema_version'");
    expect(() => migrate(db, readMigrations('sqlite'))).toThrow(
      'made by a newer postrider: its schema is number 9999',
    );
  });
});
