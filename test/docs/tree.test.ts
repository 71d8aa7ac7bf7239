/** The tree that ARCHITECTURE.md shows is the tree that is there: every name exists, and every folder of src/ is named. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '..', '..');

describe('the tree of ARCHITECTURE.md', () => {
  const shown = shownPaths();

  it('names only what exists', () => {
    expect(shown.length).toBeGreaterThan(20);
    for (const path of shown) expect(existsSync(join(ROOT, path)), path).toBe(true);
  });

  it('names every folder that holds source, and every file right below src/', () => {
    for (const path of sourceFolders()) expect(shown, path).toContain(path);
    for (const entry of readdirSync(join(ROOT, 'src'))) {
      if (entry.endsWith('.ts') && !entry.endsWith('.test.ts')) expect(shown).toContain(`src/${entry}`);
    }
  });

  it('says what each is', () => {
    const block = treeBlock().split('\n');
    for (const line of block) {
      if (/^\S+\/$/.test(line.trim()) && !line.startsWith(' ')) continue;
      expect(line.trim(), 'a name and a few words').toMatch(/^\S+\s{2,}\S|^\S+ \S/);
    }
  });
});

function treeBlock(): string {
  const page = readFileSync(join(ROOT, 'ARCHITECTURE.md'), 'utf8');
  return /## The tree\n\n```\n([\s\S]*?)\n```/.exec(page)?.[1] ?? '';
}

/** Paths by indentation: two blanks a level. */
function shownPaths(): readonly string[] {
  const stack: string[] = [];
  return treeBlock()
    .split('\n')
    .map((line) => {
      const depth = (/^ */.exec(line)?.[0].length ?? 0) / 2;
      const name = line.trim().split(/\s/)[0] ?? '';
      stack.length = depth;
      stack.push(name);
      return stack.join('').replace(/\/$/, '');
    });
}

function sourceFolders(): readonly string[] {
  const found = new Set<string>();
  for (const entry of readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })) {
    const path = `src/${entry.replaceAll('\\', '/')}`;
    if (/\.(?:ts|sql)$/.test(path)) found.add(path.slice(0, path.lastIndexOf('/')));
  }
  found.delete('src');
  return [...found].sort();
}
