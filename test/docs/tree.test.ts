/** The tree in ARCHITECTURE.md matches the folders: every name exists, and the two upper levels of src/ are complete. */
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

  it('names every folder of the two upper levels of src/', () => {
    for (const path of sourceFolders()) expect(shown, path).toContain(path);
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

/** Paths by indentation, two blanks a level; a pattern (`*.ts`) counts for nothing. */
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
    })
    .filter((path) => !path.includes('*'));
}

function sourceFolders(): readonly string[] {
  const found = new Set<string>();
  for (const entry of readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })) {
    const folders = entry.replaceAll('\\', '/').split('/').slice(0, -1);
    if (/\.(?:ts|sql)$/.test(entry) && folders.length > 0) found.add(`src/${folders.slice(0, 2).join('/')}`);
  }
  return [...found].sort();
}
