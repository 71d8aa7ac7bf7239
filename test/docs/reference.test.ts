/**
 * The reference pages against the code: what is committed is what the generator makes, and every error, key, kind,
 * command and operation appears, and nothing else does. The second half does not trust the generator: it looks for the
 * names in the tables by itself. The metrics are compared with those of a running server in test/scenarios/operations.test.ts.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { operations, plainPaths } from '../../docs/generate/api.ts';
import { commandTree, leafCommands } from '../../docs/generate/commands.ts';
import { sources } from '../../docs/generate/markdown.ts';
import { schemaFiles } from '../../docs/generate/schema.ts';
import { REFERENCE, referencePages } from '../../docs/generate.ts';
import { CONFIG_KEYS } from '../../src/config/table.ts';
import { ERRORS } from '../../src/lib/errors.ts';
import { EVENT_KINDS, WEBHOOK_TOKENS } from '../../src/model/event.ts';
import { MESSAGE_STATUSES, RECIPIENT_STATUSES, STATUS_WORDS, wordsOf } from '../../src/model/status.ts';
import { IDEMPOTENCY_WINDOW_MS } from '../../src/server-options.ts';
import { DEFAULT_TIMEOUTS } from '../../src/smtp/client-types.ts';

const ROOT = join(REFERENCE, '..', '..');

/** Keys whose part of the server is tested by the option that it is given. */
const TRIED_AS_OPTIONS: ReadonlySet<string> = new Set([
  'shared-store',
  'dns-trusted',
  'doctor-probe',
  'doctor-clock',
  'quota-per-minute',
  'quota-per-hour',
  'simulator-domain',
  'notices-per-hour',
  'retain-content',
  'retain-content-bytes',
  'retain-events',
  'retain-calls',
  'retain-unsubscribe',
  'retain-captures',
]);

describe('the reference', () => {
  it('is what `node docs/generate.ts` writes', async () => {
    for (const [name, text] of await referencePages()) {
      expect(read(name) === text, `docs/reference/${name} is out of date: run node docs/generate.ts`).toBe(
        true,
      );
    }
  });

  it('has the schema of the migrations beside it', () => {
    for (const [file, text] of schemaFiles()) {
      expect(readFileSync(file, 'utf8') === text, `${file} is out of date: run npm run docs`).toBe(true);
    }
  });

  it('has no page that nobody writes', async () => {
    expect(readdirSync(REFERENCE).sort()).toEqual([...(await referencePages()).keys()].sort());
  });

  it('names every error with its code, once', () => {
    const rows = firstTable('errors.md');
    expect(rows.map((cells) => cells[1]).sort()).toEqual(Object.keys(ERRORS).sort());
    expect(rows.map((cells) => cells[0])).toEqual(Object.values(ERRORS).map(({ code }) => String(code)));
    expect(new Set(rows.map((cells) => cells[0])).size).toBe(rows.length);
  });

  it('names every configuration key', () => {
    expect(column('config.md', 0)).toEqual(Object.keys(CONFIG_KEYS));
  });

  it('finds every configuration key in use, and in a test', () => {
    const code = [...sources()]
      .filter(([file]) => !file.startsWith('src/config/keys/'))
      .map(([, text]) => text);
    const tests = ['src', 'test'].flatMap((folder) =>
      readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
        .filter((file) => file.endsWith('.test.ts'))
        .map((file) => readFileSync(join(ROOT, folder, file), 'utf8')),
    );
    const names = Object.keys(CONFIG_KEYS);
    // `config['a-key']`, or `config.key` where the name is one word.
    const unused = names.filter((name) => {
      const use = new RegExp(
        `\\['${name}'\\]|\\bconfig\\.${name}\\b|\\{[^}]*\\b${name}\\b[^}]*\\} = config\\b`,
      );
      return !code.some((text) => use.test(text));
    });
    expect(unused, 'read these keys where they are needed').toEqual([]);
    const untried = names.filter((name) => {
      const trial = new RegExp(`'${name}'|--${name}\\b|\\b${name}: `);
      return !TRIED_AS_OPTIONS.has(name) && !tests.some((text) => trial.test(text));
    });
    expect(untried, 'set these keys in a test').toEqual([]);
  });

  it('names every event and every token', () => {
    expect(column('events.md', 0)).toEqual(Object.keys(EVENT_KINDS));
    const [tokens = ''] = /^Tokens: .*$/m.exec(read('events.md')) ?? [];
    expect([...tokens.matchAll(/`([^`]+)`/g)].map((match) => match[1])).toEqual([...WEBHOOK_TOKENS]);
  });

  it('names every word for where mail stands, and what the glossary defines is not defined twice', () => {
    const [recipients = [], messages = []] = tables('statuses.md').map((rows) =>
      rows.map(([word = '']) => word),
    );
    expect(recipients).toEqual([...wordsOf(RECIPIENT_STATUSES), 'Captured']);
    expect(messages).toEqual(wordsOf(MESSAGE_STATUSES));
    expect([...new Set([...recipients, ...messages])].sort()).toEqual([...STATUS_WORDS].sort());
    const glossary = readFileSync(join(REFERENCE, '..', 'glossary.md'), 'utf8');
    for (const word of STATUS_WORDS) expect(glossary).not.toContain(`| ${word.toLowerCase()} |`);
  });

  it('names every check of the doctor', () => {
    const code = [...sources()].filter(([file]) => file.startsWith('src/policy/domains/doctor/'));
    const ids = code.flatMap(([, text]) =>
      [...text.matchAll(/\bopenCheck\(\s*['`]([a-z0-9-]+)/g)].map((match) => match[1] ?? ''),
    );
    expect(new Set(ids).size).toBeGreaterThan(20);
    const page = readFileSync(join(REFERENCE, '..', 'howto', 'dns-and-doctor.md'), 'utf8');
    const named = new Set(
      [...page.matchAll(/^\| (`[^|]*) \|/gm)].flatMap(([, cell = '']) => cell.match(/(?<=`)[a-z0-9-]+/g)),
    );
    expect(ids.filter((id) => !named.has(id))).toEqual([]);
  });

  it('names every command', () => {
    const headings = [...read('commands.md').matchAll(/^## `postrider ([a-z -]+?)(?: [<[].*)?`$/gm)];
    expect(headings.map((match) => match[1])).toEqual(leafCommands(commandTree()).map(({ name }) => name));
  });

  it('names every operation, and every path that needs no token', () => {
    expect(column('api.md', 0)).toEqual(operations().map(({ method, path }) => `${method} ${path}`));
    expect(tables('api.md')[1]?.map((cells) => cells[0])).toEqual(plainPaths().map((path) => `GET ${path}`));
  });

  it('says of every command how it is used', () => {
    for (const { name, command } of leafCommands(commandTree())) {
      expect(command.description(), name).not.toBe('');
      const start = read('commands.md').indexOf(`## \`postrider ${name}`);
      const section = read('commands.md').slice(start).split('\n## ')[0] ?? '';
      expect(section, name).toContain('```sh\n');
    }
  });
});

describe('the pages about standards and sizes', () => {
  const page = (name: string) => readFileSync(join(ROOT, 'docs', name), 'utf8').replaceAll(/\s+/g, ' ');

  it('name the limits that the code has', () => {
    const { connectMs, bannerMs, ehloMs, mailMs, laterMailMs, rcptMs, dataMs, bodyMs, dotMs } =
      DEFAULT_TIMEOUTS;
    const [minutes, seconds] = [(ms: number) => `${ms / 60_000} min`, (ms: number) => `${ms / 1000} s`];
    expect([rcptMs, ehloMs]).toEqual([mailMs, bannerMs]);
    for (const text of [
      `MAIL and RCPT ${minutes(mailMs)}, DATA ${minutes(dataMs)}, each piece of the body ${minutes(bodyMs)}, final dot ${minutes(dotMs)}`,
      `greeting and EHLO ${seconds(bannerMs)} instead`,
      `further message on a connection ${seconds(laterMailMs)}`,
      `connecting ${seconds(connectMs)}`,
      `webhooks, domains, tokens; ${IDEMPOTENCY_WINDOW_MS / 3_600_000} hours`,
    ])
      expect(page('specifications.md')).toContain(text);
    expect(CONFIG_KEYS['retain-unsubscribe'].defaults.serve).toBe('730d');
    expect(page('scaling.md')).toContain('two years by default (`retain-unsubscribe`)');
    const schema = readFileSync(join(ROOT, 'src/store/postgres/expected-schema.sql'), 'utf8');
    expect(schema.match(/_pkey ON ONLY/g)).toHaveLength(8);
    expect(page('scaling.md')).toContain('The eight large tables of PostgreSQL are partitioned by age');
  });

  it.each(['specifications.md', 'scaling.md', 'reliability.md', 'known-issues.md'])(
    '%s names files and keys that exist',
    (name) => {
      const spans = [...page(name).matchAll(/`([^`]+)`/g)].map(([, text = '']) => text);
      const files = spans.filter((text) => /^(?:src|test|bench|docs|contrib)\/[\w./-]+$/.test(text));
      expect(files.filter((file) => !existsSync(join(ROOT, file)))).toEqual([]);
      const keys = spans.filter((text) =>
        /^(?:max|retain|dns|http|queue|rate|notices|min|allow|trusted|metrics)-[a-z-]+$/.test(text),
      );
      expect(keys.filter((key) => !(key in CONFIG_KEYS))).toEqual([]);
    },
  );
});

function read(name: string): string {
  return readFileSync(join(REFERENCE, name), 'utf8');
}

/** The tables of a page: rows of cells without their code marks. */
function tables(name: string): readonly (readonly (readonly string[])[])[] {
  return [...read(name).matchAll(/(?:^\|.*\n)+/gm)].map(([block]) =>
    block
      .trimEnd()
      .split('\n')
      .slice(2)
      .map((line) =>
        line
          .split(/(?<!\\)\|/)
          .slice(1, -1)
          .map((cell) => cell.trim().replace(/^`(.*)`$/, '$1')),
      ),
  );
}

function firstTable(name: string): readonly (readonly string[])[] {
  return tables(name)[0] ?? [];
}

function column(name: string, index: number): string[] {
  return firstTable(name).map((cells) => cells[index] ?? '');
}
