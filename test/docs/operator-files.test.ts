/** The examples of the operator's files in the documentation, taken as the program takes them. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readRouting } from '../../src/config-routing.ts';
import { createClassifier } from '../../src/pipeline/deliver/outcome/classifier/classify.ts';
import { readShapingFile } from '../../src/policy/limits/shaping/shaping-file.ts';

const DOCS = join(import.meta.dirname, '..', '..', 'docs');

function examples(page: string): readonly string[] {
  const text = readFileSync(join(DOCS, page), 'utf8');
  return [...text.matchAll(/^```json\n(.*?)^```$/gms)].map((match) => match[1] ?? '');
}

describe('examples in the documentation', () => {
  it.each(['reference/shaping.md', 'howto/shape-traffic.md'])('of %s are good shaping data', (page) => {
    const found = examples(page);
    expect(found).toHaveLength(1);
    for (const text of found) expect(readShapingFile(text, page)).toMatchObject({ kind: 'rows' });
  });

  it('of reply-rules.md is a good list of rules', () => {
    const [text = ''] = examples('reference/reply-rules.md');
    expect(createClassifier().useOperatorRules(JSON.parse(text))).toEqual({ kind: 'used', count: 1 });
  });

  it('of config.md are good sources and routes', () => {
    const [text = ''] = examples('reference/config.md');
    const problems: string[] = [];
    const { sources, routes } = readRouting(JSON.parse(text), [{ kind: 'mx' }], problems);
    expect([problems, sources.length, routes.length]).toEqual([[], 2, 3]);
  });
});
