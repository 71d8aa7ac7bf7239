/** The cases that mail servers often get wrong: each is shown by tests that are there, or said to be missing. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { PEER_CASES } from '../scenarios/peers-get-wrong.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const CASES = 65;

describe('the cases that mail servers get wrong', () => {
  it('are listed once each, in order, under names of their own', () => {
    expect(PEER_CASES.map(({ number }) => number)).toEqual(Array.from({ length: CASES }, (_, i) => i + 1));
    expect(new Set(PEER_CASES.map(({ name }) => name)).size).toBe(CASES);
  });

  it.each(PEER_CASES.map((one) => [one.number, one.name, one] as const))(
    '%i (%s) is shown, or is said to be missing',
    (_number, _name, { shownBy, missing }) => {
      if (missing === undefined) expect(shownBy).not.toEqual([]);
      else expect(page('docs/known-issues.md').replace(/\s+/g, ' ')).toContain(missing);
      for (const [file, title] of shownBy) {
        expect(existsSync(join(ROOT, file)), file).toBe(true);
        expect(titlesOf(file), file).toContain(title);
      }
    },
  );
});

const pages = new Map<string, string>();

function page(file: string): string {
  const text = pages.get(file) ?? readFileSync(join(ROOT, file), 'utf8');
  pages.set(file, text);
  return text;
}

/** First arguments of `it(…)`, also of `it.each(…)(…)` and where they stand on a line of their own. */
function titlesOf(file: string): readonly string[] {
  return [...page(file).matchAll(/(?:\bit(?:\.\w+)*|\))\(\s*(['"`])((?:(?!\1).)+)\1\s*,/g)].map(
    ([, , title]) => title ?? '',
  );
}
