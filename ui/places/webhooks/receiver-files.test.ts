/** The code that the dashboard shows is that of the guide, whose test runs it. */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { receiverFiles } from './receiver-files.ts';

const PAGE = readFileSync(new URL('../../../docs/howto/receive-webhooks.md', import.meta.url), 'utf8');

it.each([
  ['node', ['receiver.mjs', 'verify.mjs'], 'timingSafeEqual'],
  ['python', ['receiver.py'], 'hmac.compare_digest'],
  ['php', ['receiver.php'], 'hash_equals'],
  ['curl', ['call.sh'], 'webhook-signature'],
] as const)('finds the files for %s', (language, names, verifies) => {
  const files = receiverFiles(PAGE, language);
  expect(files.map(({ name }) => name)).toEqual(names);
  expect(files.at(-1)?.text).toContain(verifies);
});
