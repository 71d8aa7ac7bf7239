/**
 * The words of code and documentation. Comments may cite only documents that a reader can open: a page of this
 * repository by its path. Words of docs/glossary.md replaced others, which must not come back: the table lists them.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '..', '..');

/** A word that is no longer used, and the word that replaced it. */
const REPLACED: readonly (readonly [old: RegExp, instead: string])[] = [
  [/\b(?:type|interface) Place\b/, 'TokenSlot, ValuePosition, RoomRequest, SitePath, PostgresHost'],
  [/\b(?:PlaceKind|fillPlaces|placeOctets|readPlaces)\b/, 'slot'],
  [/\bPathPlace\b/, 'PathOwn'],
  [/\b(?:type|interface) Ways?\b/, 'route, egress'],
  [/\b(?:heardOf|onHeard)\b/, 'onOutcome'],
  [/\b(?:path|reply|tenant)(?:-l|L)essons\b/, 'effects, observed limits'],
  [/\b(?:isLed|companions)\b/, 'same transaction'],
  [/'proving'/, 'half-open'],
  [/\btwice\??: (?:boolean|true|false)\b/, 'confirm'],
  [/\blessonsOf\b/, 'observedLimits'],
  [/\blearnt\b/, 'learned, observed'],
  [/\bPlacements?\b/, 'Site'],
  [/\bSmtpWay\b/, 'SmtpEgress'],
  [/\bWayOut\b/, 'Connector'],
  [/\bRouteTarget\b/, 'Route'],
  [/\bhand(?:ed)?On\b/, 'sendAgainAtOnce, moveToOtherConnection'],
  [/\b(?:createPace|interface Pace|type Pace)\b/, 'throughput'],
  [/\bcompanionsOf\b/, 'same transaction'],
  [/\b(?:createDuty|interface Duty|type Duty)\b/, 'singleton job'],
  [/\b(?:tracesOf|interface Traces|type Traces)\b/, 'prefilter'],
  [/\b(?:createTrips|interface Trips|type Trips)\b/, 'threshold'],
  [/\bBent\b/, 'TlsFallback'],
  [/\bsetApart\b/, 'isolate'],
  [/\bways? out\b/i, 'route'],
  [/\b(?:createTenantRows|createPathTenants|TenantPauses?|tenantKey)\b/, 'sender domain'],
  [/\b(?:faultFor|faultMayFit|mayPlay|mayFit)\b/, 'sandbox rule, ruleFor, mayApply, mayMatch'],
  [/\bheld for dead\b/i, 'considered dead'],
  [/\b(?:onF|f)enced\b/, 'lease-lost (of an outcome), new epoch (of a node)'],
  [/\bdoubtsClock\b/, 'suspectsClock'],
  [/\bfor so long\b(?! (?:that|as))/i, 'for this time'],
  [/\bis told by\b/, 'is recognised by'],
];

const FOLDERS = ['src', 'test', 'bench', 'docs', 'bin', 'ui', 'packages'];
const KINDS = /\.(?:ts|tsx|mjs|js|sql|md|css|html)$/;
const SELF = 'test/docs/words.test.ts';

const FILES: readonly string[] = [
  ...readdirSync(ROOT).filter((name) => name.endsWith('.md')),
  ...FOLDERS.filter((folder) => existsSync(join(ROOT, folder))).flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => KINDS.test(name) && !/(?:^|\/)(?:node_modules|\.cache|dist)\//.test(name))
      .map((name) => `${folder}/${name}`),
  ),
].filter((path) => path !== SELF);

describe('source files', () => {
  it('cite only documents of this repository, by a path that leads there', () => {
    const wrong = FILES.filter((path) => !path.endsWith('.md') && !writesPages(path)).flatMap((path) =>
      unknownDocuments(path, readFileSync(join(ROOT, path), 'utf8')).map((cited) => `${path}: ${cited}`),
    );
    expect(wrong).toEqual([]);
  });

  it('would notice a document that is not there', () => {
    expect(unknownDocuments('src/x.ts', '/** As delivery.md §4.2 says, and docs/flow.md. */')).toEqual([
      'delivery.md',
    ]);
  });
});

describe('pages', () => {
  it('say no word twice in a row', () => {
    const found = FILES.filter((path) => path.endsWith('.md')).flatMap((path) =>
      readFileSync(join(ROOT, path), 'utf8')
        .split('\n')
        .flatMap((line, i) => (/(?<![\w-])([a-z]{2,}) \1(?![\w-])/.test(line) ? [`${path}:${i + 1}`] : [])),
    );
    expect(found).toEqual([]);
  });
});

describe('words that were replaced', () => {
  it.each(REPLACED)('%s is now "%s"', (old) => {
    const found = FILES.filter((path) => !/CHANGELOG\.md$|^docs\/decisions\//.test(path)).flatMap((path) =>
      readFileSync(join(ROOT, path), 'utf8')
        .split('\n')
        .flatMap((line, i) => (old.test(line) ? [`${path}:${i + 1}`] : [])),
    );
    expect(found).toEqual([]);
  });
});

describe('the changelog', () => {
  it('tells each thing once', () => {
    const page = readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8');
    const wordsOf = (line: string) => [...new Set(line.match(/[\w`-]{4,}/g))];
    const lines = page
      .split('\n')
      .flatMap((line) => (line.startsWith('- ') ? [{ line, words: wordsOf(line) }] : []))
      .filter(({ words }) => words.length >= 6);
    const isOf = (some: readonly string[], others: readonly string[]) => {
      let missing = 0;
      return some.every((word) => others.includes(word) || ++missing <= 0.2 * some.length);
    };
    const twice = lines.flatMap(({ line, words }, i) =>
      lines
        .slice(i + 1)
        .flatMap((other) =>
          isOf(words, other.words) || isOf(other.words, words) ? [`${line}\n${other.line}`] : [],
        ),
    );
    expect(twice).toEqual([]);
  });
});

describe('the glossary', () => {
  it('has each word once, in alphabetical order', () => {
    const page = readFileSync(join(ROOT, 'docs/glossary.md'), 'utf8');
    const words = [...page.matchAll(/^\| ([^|]+?) \|/gm)].map(([, word = '']) => word).slice(2);
    const apart = words.flatMap((cell) => cell.split(', '));
    expect(apart.length).toBeGreaterThan(50);
    expect(apart.filter((word, i) => apart.indexOf(word) !== i)).toEqual([]);
    expect(words).toEqual(words.toSorted((a, b) => a.localeCompare(b, 'en')));
  });
});

/** Files that name a page of docs/reference by its file name, because they write or check it. */
function writesPages(path: string): boolean {
  return path.startsWith('docs/generate') || path.startsWith('test/docs/');
}

/** Names of Markdown files in the comments of a source file that are neither in the repository nor beside the file. */
function unknownDocuments(path: string, text: string): readonly string[] {
  return [...text.matchAll(/(?:^\s*\*|\/\*\*|\/\/).*$/gm)].flatMap(([comment]) =>
    [...comment.matchAll(/[\w./-]*\w\.md\b/g)]
      .map(([cited]) => cited)
      .filter((cited) => !existsSync(join(ROOT, cited)) && !existsSync(join(ROOT, dirname(path), cited))),
  );
}
