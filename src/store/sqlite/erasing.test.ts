import { afterEach, expect, it } from 'vitest';
import { message } from '../conformance/fixtures.ts';
import { scrub } from './erasing.ts';
import { filledDatabase, temporaryFolder } from './test-support.ts';

const folder = temporaryFolder();
afterEach(() => folder.remove());

it('overwrites free pages in steps, to an end', () => {
  const sent = Array.from({ length: 20 }, () => message({ content: new Uint8Array(100_000) }));
  const { db, session } = filledDatabase(folder.file('store.db'), sent);
  db.run('DELETE FROM content');
  let steps = 0;
  while (scrub(session, { bytes: 524_288 })) steps += 1;
  expect(steps).toBeGreaterThan(1);
  expect(scrub(session, { bytes: 0 })).toBe(true);
  db.close();
});
