import { expect, it } from 'vitest';
import { inDialect } from './migrations.ts';

it('a change for both engines names what a column holds', () => {
  const sql = 'ALTER TABLE a ADD COLUMN b {texts} NOT NULL; ALTER TABLE a ADD COLUMN c {flag} DEFAULT false;';
  expect(inDialect('sqlite', sql)).toBe(
    'ALTER TABLE a ADD COLUMN b TEXT NOT NULL; ALTER TABLE a ADD COLUMN c INTEGER DEFAULT false;',
  );
  expect(inDialect('postgres', sql)).toBe(
    'ALTER TABLE a ADD COLUMN b text[] COLLATE "C" NOT NULL; ALTER TABLE a ADD COLUMN c bool DEFAULT false;',
  );
});

it('a word that no engine knows is refused', () => {
  expect(() => inDialect('sqlite', 'ALTER TABLE a ADD COLUMN b {money}')).toThrow('{money}');
  expect(() => inDialect('postgres', 'ALTER TABLE a ADD COLUMN b {constructor}')).toThrow('{constructor}');
});
