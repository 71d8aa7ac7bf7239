/** The Markdown of generated pages: the note on their first line that they are generated, and tables. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..', '..');

/** A page with its title and the note that it is generated. */
export function page(title: string, ...blocks: readonly string[]): string {
  const note =
    '<!-- Written by docs/generate.ts from the code. Change the table there, then: node docs/generate.ts -->';
  return `${[`# ${title}`, note, ...blocks].join('\n\n')}\n`;
}

/** A table. Cells may hold Markdown; a bar inside one is escaped. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map(cell).join(' | ')} |`;
  return [line(head), `|${' --- |'.repeat(head.length)}`, ...rows.map(line)].join('\n');
}

/** `text` as code, or a dash where there is none. */
export function code(text: string | null): string {
  return text === null || text === '' ? '–' : `\`${text}\``;
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('\n', ' ');
}

/** The text of every shipped source file, by its path from the root, for searches. */
export function sources(): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const entry of readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' }).sort()) {
    if (
      !entry.endsWith('.ts') ||
      entry.endsWith('.test.ts') ||
      /(?:^|\/)(?:test-[a-z-]+\.ts$|store\/conformance\/)/.test(entry)
    )
      continue;
    found.set(`src/${entry}`, readFileSync(join(ROOT, 'src', entry), 'utf8'));
  }
  return found;
}

/** `items` joined by `sentences` of the same keys. Throws where one is missing or left over. */
export function withSentences<T>(
  items: readonly T[],
  keyOf: (item: T) => string,
  sentences: Readonly<Record<string, string>>,
): readonly (readonly [T, string])[] {
  const left = new Set(Object.keys(sentences));
  const joined = items.map((item) => {
    const key = keyOf(item);
    const sentence = sentences[key];
    if (sentence === undefined) throw new Error(`docs/generate: "${key}" has no sentence yet`);
    left.delete(key);
    return [item, sentence] as const;
  });
  if (left.size > 0) throw new Error(`docs/generate: sentences about nothing: ${[...left].join(', ')}`);
  return joined;
}
