/**
 * Every Markdown page against the repository: links and file names lead somewhere, `postrider …` in commands and in
 * running text names real commands and options, npm scripts exist, the wording keeps to the project (no machine's paths,
 * no package registries), and lists of pages name all of them.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, it } from 'vitest';
import { commandTree } from '../../docs/generate/commands.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const PAGES = markdownPages();
const TREE = commandTree();
const SCRIPTS = Object.keys(
  (JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { scripts: object }).scripts,
);

const FORBIDDEN: readonly (readonly [what: string, pattern: RegExp])[] = [
  ['a path of some machine', /(?:^|[\s"'`(=:])\/(?:work|root|home|tmp|Users|mnt|private)\//],
  ['a package registry', /\bregistry\.|npmjs|yarnpkg|jsr\.io|\bartifactory\b/i],
  ['something left to do', /\b(?:TODO|FIXME|XXX|TBD)\b/],
];

describe.each(PAGES)('%s', (page) => {
  const text = readFileSync(join(ROOT, page), 'utf8');

  it('links to what exists', () => {
    const broken = relativeLinks(text).filter((link) => !leadsSomewhere(page, link));
    expect(broken).toEqual([]);
  });

  it('names files that exist', () => {
    expect(namedFiles(text).filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  });

  it('names real commands and options', () => {
    expect(commandLines(text).flatMap(problemsOf)).toEqual([]);
  });

  it('names npm scripts that exist', () => {
    const named = [...text.matchAll(/\bnpm run ([a-z:-]+)/g)].map(([, name = '']) => name);
    expect(named.filter((name) => !SCRIPTS.includes(name))).toEqual([]);
  });

  it('keeps to the project in its words', () => {
    const found = FORBIDDEN.filter(([, pattern]) => pattern.test(text)).map(([what]) => what);
    expect(found).toEqual([]);
  });
});

describe('docs/flow.md', () => {
  const text = readFileSync(join(ROOT, 'docs/flow.md'), 'utf8');

  it('names functions that are in the files named with them', () => {
    const pairs = functionsWithFile(text);
    expect(pairs.length).toBeGreaterThan(40);
    const missing = pairs.filter(([name, file]) => !wordsOf(join(ROOT, file)).has(name));
    expect(missing).toEqual([]);
  });

  it('names functions that the source has', () => {
    const words = new Set(sourceFiles().flatMap((file) => [...wordsOf(file)]));
    const names = [...text.matchAll(/`(?:\w+\.)?([a-z]+[A-Z]\w*)`/g)].map(([, name = '']) => name);
    expect(names.length).toBeGreaterThan(60);
    expect(names.filter((name) => !words.has(name))).toEqual([]);
  });
});

describe('lists of pages', () => {
  const markdownIn = (folder: string) =>
    readdirSync(join(ROOT, folder)).filter((name) => name.endsWith('.md') && name !== 'README.md');

  it('README.md names every how-to page', () => {
    const text = readFileSync(join(ROOT, 'README.md'), 'utf8');
    expect(markdownIn('docs/howto').filter((name) => !text.includes(`](docs/howto/${name})`))).toEqual([]);
  });

  it('the list of decisions names every one, and each begins with its number', () => {
    const list = readFileSync(join(ROOT, 'docs/decisions/README.md'), 'utf8');
    const wrong = markdownIn('docs/decisions').filter((name) => {
      const number = name.slice(0, 4);
      const title = readFileSync(join(ROOT, 'docs/decisions', name), 'utf8');
      return !title.startsWith(`# ${number} `) || !list.includes(`| [${number}](${name}) |`);
    });
    expect(wrong).toEqual([]);
  });
});

describe('the rules themselves', () => {
  it.each([
    ['an unknown command', './bin/postrider fly', 'fly'],
    ['an unknown command of a group', 'postrider domain fly example.com', 'domain fly'],
    ['an unknown option', 'postrider token create --domain example.com --fast', '--fast'],
    ['an option of another command', 'postrider domain list --preset Send', '--preset'],
  ])('refuse %s', (_, line, named) => {
    expect(problemsOf(line).join('\n')).toContain(named);
  });

  it('take options of the program, of a group and of the configuration', () => {
    expect(problemsOf('postrider --json domain list --data x')).toEqual([]);
    expect(problemsOf('postrider serve --http 127.0.0.1:0 --route mx')).toEqual([]);
    expect(problemsOf('postrider domain --help')).toEqual([]);
  });

  it('find commands behind a pipe, in a substitution, after a variable, over two lines', () => {
    const block = [
      '```sh',
      'echo x | ./bin/postrider send --from a --to b --subject c --html -',
      'TOKEN=$(postrider token create --domain d)',
      "POSTRIDER_ROUTE='smtp://r' ./bin/postrider serve",
      'postrider webhook create \\',
      '  --domain d https://example.com/',
      '```',
    ].join('\n');
    expect(commandLines(block).map((line) => line.split(' ').slice(0, 3).join(' '))).toEqual([
      './bin/postrider send --from',
      'postrider token create',
      './bin/postrider serve',
      'postrider webhook create',
    ]);
  });

  it('find links, anchors and files', () => {
    expect(relativeLinks('[a](b.md) [c](https://x) [d](#e) `[f](g)`')).toEqual(['b.md', '#e']);
    expect(namedFiles('`src/x.ts` `src/**/*.ts` `text/html` ')).toEqual(['src/x.ts']);
  });
});

function markdownPages(): readonly string[] {
  const top = readdirSync(ROOT).filter((name) => name.endsWith('.md'));
  const below = ['docs', 'bench', 'test', 'src']
    .filter((folder) => existsSync(join(ROOT, folder)))
    .flatMap((folder) =>
      readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.md') && !/(?:^|\/)(?:node_modules|\.cache)\//.test(name))
        .map((name) => `${folder}/${name}`),
    );
  return [...top, ...below].sort();
}

/** Targets of links outside code that stay in the repository. */
function relativeLinks(text: string): readonly string[] {
  const prose = text.replace(/```[\s\S]*?```/g, '').replace(/`[^`\n]*`/g, '');
  return [...prose.matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, target = '']) => target)
    .filter((target) => !/^[a-z]+:/.test(target));
}

function leadsSomewhere(page: string, link: string): boolean {
  const [path = '', anchor] = link.split('#');
  const target = path === '' ? page : normalize(join(dirname(page), path));
  if (!existsSync(join(ROOT, target))) return false;
  if (anchor === undefined) return true;
  return anchorsOf(readFileSync(join(ROOT, target), 'utf8')).includes(anchor);
}

/** Anchors as renderers make them: lower case, blanks to dashes, other signs dropped. */
function anchorsOf(text: string): readonly string[] {
  return [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

/** Paths in code marks that begin in a folder of this repository. */
function namedFiles(text: string): readonly string[] {
  return [...text.matchAll(/`((?:src|test|docs|bench|bin|\.ci)\/[\w./-]*)`/g)].map(([, path = '']) => path);
}

/** Every call of the program: in `sh` blocks, and in code marks of running text. */
function commandLines(text: string): readonly string[] {
  const blocks = [...text.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, block = '']) => block);
  const prose = text.replace(/```[\s\S]*?```/g, '');
  const marks = [...prose.matchAll(/`((?:\.\/bin\/)?postrider [^`\n]+)`/g)].map(([, mark = '']) => mark);
  return [...blocks, ...marks].flatMap((block) =>
    block
      .replaceAll('\\\n', ' ')
      .split(/\n|[|;]|&&|\$\(|\)/)
      .flatMap((part) => /(?:^|\s)((?:\.\/bin\/)?postrider(?:\s.*)?)$/.exec(part.trim())?.[1] ?? [])
      .map((line) => line.replace(/\s+/g, ' ')),
  );
}

/** What is wrong with a call, by the tree of commands. */
function problemsOf(line: string): readonly string[] {
  const words = line.split(' ').slice(1);
  const problems: string[] = [];
  let command = TREE;
  const known = new Set(['--help', '-h', ...TREE.options.flatMap((o) => [o.long, o.short])]);
  for (let i = 0; i < words.length; i++) {
    const word = words[i] ?? '';
    if (word.startsWith('-') && word.length > 1) continue;
    const before = words[i - 1] ?? '';
    const option = [...TREE.options, ...command.options].find((o) => o.long === before || o.short === before);
    if (option !== undefined && (option.required || option.optional)) continue;
    if (command.commands.length === 0) break;
    const next = command.commands.find((child) => child.name() === word);
    if (next === undefined) return [`${line}: there is no command "${nameOf(command)}${word}"`];
    command = next;
  }
  for (const option of command.options) known.add(option.long);
  for (const word of words) {
    const flag = /^--?[a-zA-Z][a-zA-Z-]*/.exec(word)?.[0];
    if (flag !== undefined && !known.has(flag)) problems.push(`${line}: there is no option ${flag}`);
  }
  return problems;
}

function nameOf(command: typeof TREE): string {
  const names: string[] = [];
  for (let at: typeof TREE | null = command; at !== null && at !== TREE; at = at.parent)
    names.unshift(at.name());
  return names.length === 0 ? '' : `${names.join(' ')} `;
}

/** `name` (`src/file.ts`), or `name`, `src/file.ts`. */
function functionsWithFile(text: string): readonly (readonly [name: string, file: string])[] {
  return [...text.matchAll(/`(?:\w+\.)?(\w+)`,?\s+\(?`(src\/[^`]+\.ts)`/g)].map(
    ([, name = '', file = '']) => [name, file] as const,
  );
}

function wordsOf(file: string): ReadonlySet<string> {
  return new Set(readFileSync(file, 'utf8').match(/\w+/g));
}

function sourceFiles(): readonly string[] {
  return readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => join(ROOT, 'src', name));
}
