/**
 * Every regular expression of the server and the dashboard, before texts that make a bad one try every place anew. None may take
 * time that grows faster than its text, but for those that are named below with the reason why their text is short.
 */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parseAst } from 'vitest/node';
import { cpuMsOf } from '../fakes/thread-cpu.ts';
import { growthOf, MOST_GROWTH, run } from './growth.ts';
import { sourceFiles } from './source-files.ts';

/** `file expression` → why it never meets a long text. */
const SHORT: Readonly<Record<string, string>> = {
  'src/lib/json-lines.ts /\\n|"(?:[^"\\\\]|\\\\.)*"(\\s*:)?|[[\\]{},]|[^\\s"[\\]{},:]+/g':
    'files of the operator',
  'src/client/caller.ts /\\/+$/': 'the address that an application gives its own client',
  'src/config-routing.ts /\\/\\/.*@/s': 'the configuration of the operator',
  'src/config/forms.ts /:\\/\\/.*@/s': 'the configuration of the operator',
  'src/config/keys/server.ts /\\/+$/': 'the configuration of the operator',
  'src/listeners/http/openapi/document.ts /\\[([^\\]]+)\\]\\([^)]+\\)/g': 'descriptions of this program',
};

/** For all texts of one expression together; what is linear takes a tenth of it. */
const SCREEN_MS = 10;

interface Expression {
  file: string;
  pattern: string;
  flags: string;
}

function expressions(): Expression[] {
  const found = new Map<string, Expression>();
  for (const file of [...sourceFiles(), ...sourceFiles('ui')]) {
    const visit = (node: unknown): void => {
      if (Array.isArray(node)) for (const each of node) visit(each);
      else if (typeof node === 'object' && node !== null) {
        if ('regex' in node) {
          const { pattern, flags } = node.regex as { pattern: string; flags: string };
          found.set(`${file} ${pattern} ${flags}`, { file, pattern, flags });
        }
        for (const value of Object.values(node)) visit(value);
      }
    };
    visit(parseAst(readFileSync(file, 'utf8'), { lang: file.endsWith('x') ? 'tsx' : 'ts' }));
  }
  return [...found.values()];
}

interface Piece {
  text: string;
  /** Characters of the longest repetition. */
  most: number;
}

/** What may be repeated to trouble an expression: its own characters, words and pairs of them, and what others stumble over. */
function piecesFor(pattern: string): Piece[] {
  const plain = pattern
    .replace(/\\u\{?([0-9a-f]{1,6})\}?/gi, (_, hex: string) => String.fromCodePoint(Number.parseInt(hex, 16)))
    .replace(/\\s/g, ' ')
    .replace(/\\[dwp]/g, 'a0')
    .replace(/\\t/g, '\t')
    .replace(/\\r/g, '\r')
    .replace(/\\n/g, '\n')
    .replace(/\\(.)/g, '$1');
  const own = [...new Set(plain)].filter(
    (char) => !'^$?*+|()[]{}'.includes(char) || pattern.includes(`\\${char}`),
  );
  const words = plain.match(/[a-z0-9=:<&-]{2,}/gi) ?? [];
  const chars = [...new Set([...own.slice(0, 10), ' ', '\n', 'a', '0', '.', '"', '-', '\u0301'])];
  const pairs = chars.slice(0, 4).flatMap((a) => chars.slice(0, 4).map((b) => a + b));
  // `<style[^>]*>(.*?)<\/style` looks for its end anew from each `<style>`, so few of those in a text show little.
  const bare = plain.replace(/\[[^\]]*\]|\{\d+,?\d*\}|\(\?[:=!]|[()^$*+?]/g, '');
  const begins = [4, 6, 7, 8].map((length) => bare.slice(0, length)).filter((text) => text.length > 2);
  return [
    ...[...new Set([...chars, ...words.slice(0, 8), ...pairs])].map((text) => ({ text, most: 6_000 })),
    ...[...new Set(begins)].map((text) => ({ text, most: 60_000 })),
  ];
}

function usesOf({ pattern, flags }: Expression) {
  const expression = new RegExp(pattern, flags);
  const use = expression.global
    ? (text: string) => text.replace(expression, '')
    : (text: string) => {
        expression.lastIndex = 0;
        return expression.test(text);
      };
  const pieces = piecesFor(pattern);
  return { use, pieces, start: pieces[0]?.text ?? '' };
}

/** `src/smtp` of `src/smtp/reply.ts`. */
const folderOf = (file: string): string => file.split('/').slice(0, 2).join('/');

describe('a regular expression of the source', () => {
  const all = expressions();
  it('is found', () => expect(all.length).toBeGreaterThan(300));

  // Each of them has its own time limit.
  const folders = [...new Set(all.map(({ file }) => folderOf(file)))];
  it.each(folders)('takes no time that grows faster than its text: %s', async (folder) => {
    const bad: string[] = [];
    for (const each of all.filter(({ file }) => folderOf(file) === folder)) {
      const { use, pieces, start } = usesOf(each);
      const texts = (piece: Piece, size: number) => {
        const text = run(piece.text, size);
        return [text, `${text}\u0001`, `${start}${text}\n\u0001`];
      };
      const key = `${each.file} /${each.pattern}/${each.flags}`;
      // All at once first: hardly any is worth a second look.
      const ms = cpuMsOf(() => {
        for (const piece of pieces) for (const text of texts(piece, piece.most / 2)) use(text);
      });
      if (ms < SCREEN_MS || key in SHORT) continue;
      for (const piece of pieces) {
        const growth = await growthOf(
          (size) => texts(piece, size).map((text) => use(text)),
          piece.most / 4,
          8,
        );
        if (growth === null || growth <= MOST_GROWTH) continue;
        bad.push(`${key} on ${JSON.stringify(piece.text)}: ${growth.toFixed(1)}`);
        break;
      }
    }
    expect(bad).toEqual([]);
  });

  it('that is excused is there', () => {
    const keys = new Set(all.map(({ file, pattern, flags }) => `${file} /${pattern}/${flags}`));
    expect(Object.keys(SHORT).filter((key) => !keys.has(key))).toEqual([]);
  });
});
