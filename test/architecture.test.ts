/**
 * Holds src/ against its own rules (architecture-rules.ts): who may import whom, no circles, time and chance through
 * one door, no barrels. The checker itself is held against small made-up trees, so that a rule that stopped working is
 * noticed.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { AREAS, areaOf, check, importsOf, MAX_LINES, ROOMS } from './architecture-rules.ts';

const ROOT = join(import.meta.dirname, '..');
const PACKAGE = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  dependencies: Record<string, string>;
};
const DEPENDENCIES = new Set(Object.keys(PACKAGE.dependencies));

describe('src/', () => {
  it('keeps every rule of the tree', () => {
    const violations = check(sourceFiles(), DEPENDENCIES);
    const lines = violations.map(({ file, rule, detail }) => `${file}: ${rule}: ${detail}`);
    expect(lines.join('\n')).toBe('');
  });

  it('is what the checker really sees: known imports are found', () => {
    const files = sourceFiles();
    const foundation = importsOf(files.get('src/foundation.ts') ?? '').map((one) => one.specifier);
    expect(foundation).toContain('./database.ts');
    expect(foundation).toContain('prom-client');
    const engine = importsOf(files.get('src/store/sqlite/open.ts') ?? '');
    expect(engine).toContainEqual({ specifier: './engine/writer-thread.ts', typesOnly: false, thread: true });
  });
});

/** Pure functions that the command line or the server uses too. */
const SHARED_WITH_UI = [
  ...['src/policy/suppressions/import-file.ts', 'src/policy/suppressions/import-presets.ts'],
  'src/client/event-stream.ts',
  ...['src/lib/capital.ts', 'src/lib/csv.ts'],
  'src/listeners/http/sandbox/captured-page.ts',
  'src/model/wait-reason.ts',
  'src/model/webhook.ts',
  ...['src/pipeline/compose/html-entities.ts', 'src/pipeline/compose/html-tags.ts'],
];

describe('ui/', () => {
  it('imports its own files, packages for browsers, shared readers, and types of the API', () => {
    const allowed =
      /^(?:react|react-dom|lucide-react|radix-ui|caniemail|uqr|@tanstack\/react-\w+|@codemirror\/\w+|@lezer\/\w+)(?:\/|$)/;
    const wrong: string[] = [];
    for (const [file, text] of uiFiles()) {
      for (const { specifier, typesOnly } of importsOf(text)) {
        const own = specifier.startsWith('.') && join(file, '..', specifier).startsWith('ui/');
        const contract = typesOnly && join(file, '..', specifier) === 'src/client/api-types.ts';
        const shared = SHARED_WITH_UI.includes(join(file, '..', specifier));
        // The guide whose code is shown.
        const guide = specifier === '../../../docs/howto/receive-webhooks.md?raw';
        if (!own && !contract && !shared && !guide && !allowed.test(specifier))
          wrong.push(`${file}: ${specifier}`);
      }
    }
    expect(wrong).toEqual([]);
  });

  it('says in every file what it is for', () => {
    for (const [file, text] of uiFiles()) expect(text.startsWith('/**'), file).toBe(true);
  });
});

describe('the import table', () => {
  it('names only areas that it has', () => {
    const names = new Set(AREAS.map((area) => area.name));
    for (const area of AREAS) for (const name of area.may) expect(names, area.name).toContain(name);
  });

  it('lets nobody import main, and only what opens databases, backups and the simulation an engine', () => {
    for (const area of AREAS) {
      expect(area.may, area.name).not.toContain('main');
      if (area.name === 'database' || area.name === 'transfer') continue;
      expect(area.may, area.name).not.toContain('store/postgres');
      if (area.name !== 'backup' && area.name !== 'simulation')
        expect(area.may, area.name).not.toContain('store/sqlite');
    }
  });

  it('is the one of ARCHITECTURE.md, which leaves out the files directly in src/', () => {
    const names = new Set(AREAS.map(({ name }) => name));
    const areas = (cell: string | undefined): readonly string[] =>
      [...(cell ?? '').matchAll(/`([^`]+)`/g)].flatMap(([, written = '']) =>
        written === 'classifier'
          ? [...names].filter((name) => name.endsWith('/classifier'))
          : written.endsWith('/*')
            ? [...names].filter(
                (name) => name.startsWith(written.slice(0, -1)) && !name.endsWith('/classifier'),
              )
            : [written],
      );
    const page = readFileSync(join(ROOT, 'ARCHITECTURE.md'), 'utf8');
    const table = /## Import table([\s\S]*?)\n### /.exec(page)?.[1]?.split('\n') ?? [];
    const rows = table
      .filter((line) => line.startsWith('| `'))
      .map((line) => line.split('|'))
      .flatMap((cells) => areas(cells[1]).map((name) => [name, [...areas(cells[2])].sort()] as const));
    const folders = AREAS.filter(({ at }) => at.split('/').length > 2);
    expect(rows.map(([name]) => name).sort()).toEqual([...new Set(folders.map(({ name }) => name))].sort());
    expect(Object.fromEntries(rows)).toEqual(
      Object.fromEntries(folders.map(({ name, may }) => [name, [...may].sort()])),
    );
  });

  it('has the rooms of an area with it, and they are the folders that there are', () => {
    const page = readFileSync(join(ROOT, 'ARCHITECTURE.md'), 'utf8').split('\n');
    for (const { at, rooms } of ROOMS) {
      const folders = readdirSync(join(ROOT, at), { withFileTypes: true }).filter((entry) =>
        entry.isDirectory(),
      );
      expect(folders.map(({ name }) => name).sort()).toEqual(Object.keys(rooms).sort());
      for (const [name, may] of Object.entries(rooms)) {
        const cells = page.find((line) => line.startsWith(`| \`${name}/\` |`))?.split('|') ?? [];
        expect(
          (cells[2] ?? '').replaceAll('`', '').replaceAll('/', '').split(' ').filter(Boolean),
          name,
        ).toEqual([...may]);
      }
    }
  });

  it('gives a file to the narrowest area', () => {
    expect(areaOf('src/store/store.ts')?.name).toBe('store');
    expect(areaOf('src/store/sqlite/open.ts')?.name).toBe('store/sqlite');
    expect(areaOf('src/other/x.ts')).toBeUndefined();
  });
});

describe('the checker', () => {
  const HEAD = '/** A head comment. */\n';

  it.each([
    [
      'a listener that imports another',
      'src/listeners/http/x.ts',
      '../health/y.ts',
      'imports follow the table',
    ],
    [
      'a pipeline part that looks left',
      'src/pipeline/compose/x.ts',
      '../deliver/y.ts',
      'imports follow the table',
    ],
    ['a compose that is not pure', 'src/pipeline/compose/x.ts', '../../net/y.ts', 'imports follow the table'],
    [
      'a policy that looks up',
      'src/policy/access/x.ts',
      '../../pipeline/queue/y.ts',
      'imports follow the table',
    ],
    ['an engine reached from a command', 'src/cli/x.ts', '../store/sqlite/y.ts', 'imports follow the table'],
    [
      'an engine reached from a listener',
      'src/listeners/http/x.ts',
      '../../store/sqlite/y.ts',
      'imports follow the table',
    ],
    ['an import of main', 'src/cli/x.ts', '../main.ts', 'imports follow the table'],
    ['a lib that is not the lowest', 'src/lib/x.ts', '../mail/y.ts', 'imports follow the table'],
    ['code where only types may pass', 'src/model/x.ts', '../mail/y.ts', 'imports follow the table'],
    ['a test that is imported', 'src/lib/x.ts', './y.test.ts', 'nothing that ships imports a test'],
  ])('refuses %s', (_, file, specifier, rule) => {
    const target = new URL(specifier, `file:///${file}`).pathname.slice(1);
    const files = new Map([
      [file, `${HEAD}import { y } from '${specifier}';\n`],
      [target, HEAD],
    ]);
    expect(rulesOf(files)).toEqual([`${file}: ${rule}`]);
  });

  it.each([
    ['a raw timer', 'src/pipeline/queue/x.ts', 'setTimeout(f, 1);', 'time only through Clock'],
    ['the wall clock', 'src/net/x.ts', 'const t = Date.now();', 'time only through Clock'],
    ['an interval', 'src/net/x.ts', 'setInterval(f, 1);', 'time only through Clock'],
    ['chance', 'src/net/x.ts', 'const r = Math.random();', 'randomness only through Random'],
    ['the console', 'src/net/x.ts', "console.log('x');", 'no console'],
    ['the environment', 'src/server.ts', 'const e = process.env.X;', 'environment only in main and config'],
    ['a barrel', 'src/lib/x.ts', "export * from './y.ts';", 'no barrels'],
    ['a default export', 'src/lib/x.ts', 'export default 1;', 'no default exports'],
    ['something left to do', 'src/lib/x.ts', '// TODO later', 'nothing is left to do'],
    ['a package out of place', 'src/net/x.ts', "import { z } from 'zod';", 'packages stay where they belong'],
    [
      'the driver out of place',
      'src/net/x.ts',
      "import { X } from 'node:sqlite';",
      'packages stay where they belong',
    ],
    ['an import of nothing', 'src/net/x.ts', "import { z } from './z.ts';", 'imports name files that exist'],
  ])('refuses %s', (_, file, code, rule) => {
    expect(rulesOf(new Map([[file, `${HEAD}${code}\n`]]))).toContain(`${file}: ${rule}`);
  });

  it('refuses a development tool in what ships', () => {
    const files = new Map([['src/cli/x.ts', `${HEAD}import { Command } from 'commander';\n`]]);
    expect(check(files, new Set()).map((one) => one.rule)).toEqual(['what ships imports dependencies only']);
  });

  it('refuses circles, also long ones', () => {
    const files = new Map([
      ['src/lib/a.ts', `${HEAD}import { b } from './b.ts';\n`],
      ['src/lib/b.ts', `${HEAD}import { c } from './c.ts';\n`],
      ['src/lib/c.ts', `${HEAD}export { a } from './a.ts';\n`],
    ]);
    const [violation] = check(files, DEPENDENCIES);
    expect(violation?.detail).toBe('src/lib/a.ts → src/lib/b.ts → src/lib/c.ts → src/lib/a.ts');
  });

  it('refuses a file outside the table, one without a head, and a long one that does not say why', () => {
    const long = `${HEAD}${'const x = 1;\n'.repeat(MAX_LINES)}`;
    const excused = long.replace('A head comment.', 'In one piece, because its states belong together.');
    expect(rulesOf(new Map([['src/odd/x.ts', HEAD]]))).toEqual([
      'src/odd/x.ts: every file belongs to an area',
    ]);
    expect(rulesOf(new Map([['src/lib/x.ts', 'const x = 1;\n']]))).toEqual([
      'src/lib/x.ts: every file has a head comment',
    ]);
    expect(rulesOf(new Map([['src/lib/x.ts', long]]))).toEqual(['src/lib/x.ts: long files say why']);
    expect(rulesOf(new Map([['src/lib/x.ts', excused]]))).toEqual([]);
  });

  it('sees imports over several lines, of types, for effect, at run time and of threads', () => {
    const text = [
      "import {\n  type A,\n  b,\n} from './one.ts';",
      "import type { C } from './two.ts';",
      "import { type D, type E } from './three.ts';",
      "import './four.ts';",
      "const five = await import('./five.ts');",
      "const six = new URL('./six.ts', import.meta.url);",
      "export { seven } from './seven.ts';",
    ].join('\n');
    const found = importsOf(text).map((one) => `${one.specifier}${one.typesOnly ? ' types' : ''}`);
    expect(found.sort()).toEqual(
      [
        './one.ts',
        './two.ts types',
        './three.ts types',
        './four.ts',
        './five.ts',
        './six.ts',
        './seven.ts',
      ].sort(),
    );
  });

  it('takes words in comments and methods of the same name for what they are', () => {
    const text = `${HEAD}/** Never Date.now(). */\n// console.log\nsocket.setTimeout(5);\n`;
    expect(rulesOf(new Map([['src/net/x.ts', text]]))).toEqual([]);
  });
});

function rulesOf(files: ReadonlyMap<string, string>): readonly string[] {
  return check(files, DEPENDENCIES).map(({ file, rule }) => `${file}: ${rule}`);
}

/** Those that run in the browser. */
function uiFiles(): ReadonlyMap<string, string> {
  return filesBelow('ui', (path) => /(?<!\.test)\.tsx?$/.test(path) && path !== 'ui/vite.config.ts');
}

function sourceFiles(): ReadonlyMap<string, string> {
  return filesBelow('src', (path) => path.endsWith('.ts'));
}

function filesBelow(folder: string, isWanted: (path: string) => boolean): ReadonlyMap<string, string> {
  const files = new Map<string, string>();
  for (const entry of readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })) {
    const path = `${folder}/${entry.replaceAll('\\', '/')}`;
    if (!isWanted(path)) continue;
    files.set(path, readFileSync(join(ROOT, path), 'utf8'));
  }
  return files;
}
