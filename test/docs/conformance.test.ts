/**
 * Every operation of the store is named in a conformance test, found in the text without a database. Whether the test really
 * runs the operation is checked by the projects `store` and `postgres`.
 */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { READS, WRITES } from '../../src/store/sqlite/operations.ts';

const FOLDER = join(import.meta.dirname, '..', '..', 'src', 'store', 'conformance');

it('every operation of the store is named in a test of conformance', () => {
  const texts = globSync(join(FOLDER, '*.ts')).map((file) => readFileSync(file, 'utf8'));
  const named = new Set(texts.flatMap((text) => text.match(/\w+/g) ?? []));
  const operations = Object.keys({ ...READS, ...WRITES });
  expect(operations.length).toBeGreaterThan(100);
  const missing = operations.filter((name) => !named.has(name));
  expect(missing, 'test these operations in src/store/conformance').toEqual([]);
});
