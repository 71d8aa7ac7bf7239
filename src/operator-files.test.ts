import { execFileSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { openDataFolder } from './data-folder.ts';
import type { Logger } from './lib/log.ts';
import { createSystemRandom } from './lib/random.ts';
import { createOperatorFiles, type OperatorFiles, replyRulesFile } from './operator-files.ts';
import { createClassifier } from './pipeline/deliver/outcome/classifier/classify.ts';
import { createManualClock } from './store/sqlite/test-support.ts';

const RULE = {
  id: 'own-1',
  when: '5xx',
  re: 'blue moon',
  lit: ['blue moon'],
  category: 'mailbox_full',
  confidence: 'high',
  since: '2026-11',
  source: 'our postmaster',
  example: '550 5.7.1 only at a blue moon',
  nearMiss: '550 5.7.1 only at a full moon',
};

let folder: string;
let errors: { problems: readonly string[] }[];
let files: OperatorFiles;
const classifier = createClassifier();

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'postrider-files-'));
  errors = [];
  const log: Logger = {
    debug() {},
    info() {},
    warn() {},
    error: (fields) => void errors.push(fields as { problems: readonly string[] }),
  };
  files = createOperatorFiles(folder, [replyRulesFile(classifier)], log);
});

afterEach(() => {
  classifier.useOperatorRules([]);
  rmSync(folder, { recursive: true, force: true });
});

const write = (rules: unknown) =>
  writeFileSync(
    join(folder, 'reply-rules.json'),
    typeof rules === 'string' ? rules : JSON.stringify(rules, null, 1),
  );
const verdict = () =>
  classifier.classify({
    stage: 'rcpt',
    code: 550,
    enhanced: '5.7.1',
    text: 'only at a blue moon',
    origin: 'remote',
  }).ruleId;

describe('reply rules of the operator', () => {
  it('decide from the start, change with a reload, and go with their file', async () => {
    await files.load();
    expect(verdict()).not.toBe('own-1');
    write([RULE]);
    await files.reload();
    expect(verdict()).toBe('own-1');
    write([{ ...RULE, id: 'own-2' }]);
    await files.load();
    expect(verdict()).toBe('own-2');
    rmSync(join(folder, 'reply-rules.json'));
    await files.reload();
    expect(verdict()).not.toMatch(/^own/);
    expect(errors).toEqual([]);
  });

  it.each<[string, unknown, RegExp]>([
    [
      'an unknown field',
      [RULE, { ...RULE, id: 'own-3', wait: 5 }],
      /: line 16: rule 2 \("own-3"\): unknown field wait/,
    ],
    [
      'an expression that may run long',
      [{ ...RULE, re: '(a+)+' }],
      /: line 2: rule 1 \("own-1"\): unbounded repetition/,
    ],
    ['no list', { rules: [] }, /: line 1: the rules are not a list; write/],
    ['no JSON', '[\n{]', /: line 2: is not JSON/],
    ['a key twice', '[{"id": "a",\n"id": "b"}]', /: line 2: a key stands twice/],
  ])('with %s keep the server from starting; a reload keeps the old ones', async (_what, rules, problem) => {
    write([RULE]);
    await files.load();
    write(rules);
    await expect(files.load()).rejects.toThrow(problem);
    await files.reload();
    expect(errors[0]?.problems.join('\n')).toMatch(problem);
    expect(verdict()).toBe('own-1');
  });

  it.each<[string, (path: string) => unknown, RegExp]>([
    ['a folder', (path) => mkdirSync(path), /cannot be read \(it is a folder\)/],
    ['a pipe', (path) => execFileSync('mkfifo', [path]), /\(it is not a file but a pipe or a device\)/],
    ['a device', (path) => symlinkSync('/dev/zero', path), /\(it is not a file but a pipe or a device\)/],
    ['a large file', (path) => writeFileSync(path, ' '.repeat(4 * 1024 * 1024 + 1)), /larger than 4 MiB/],
  ])('are neither read from %s nor waited for', async (_what, put, problem) => {
    write([RULE]);
    await files.load();
    const path = join(folder, 'reply-rules.json');
    rmSync(path);
    put(path);
    await expect(files.load()).rejects.toThrow(problem);
    await files.reload();
    expect(errors[0]?.problems.join('\n')).toMatch(problem);
    expect(verdict()).toBe('own-1');
  });
});

describe('the files of a data folder under a running server', () => {
  it('are written again if they are missing, but not into another folder', async () => {
    const path = join(folder, 'data');
    const clock = createManualClock();
    const warn = vi.fn();
    const log = { debug() {}, info() {}, warn, error() {} };
    const data = await openDataFolder(path, createSystemRandom(), { clock, log });
    await data.secrets(null, async () => false);
    await data.adminToken(async () => 'token');
    await data.announce('http://127.0.0.1:1');
    const names = readdirSync(path);
    const texts = () => readdirSync(path).map((name) => readFileSync(join(path, name), 'utf8'));
    const before = texts();
    for (const name of names) rmSync(join(path, name));
    writeFileSync(join(path, 'secret-key'), '');
    clock.advance(10_000);
    await expect.poll(() => warn.mock.calls.length).toBe(4);
    expect(texts()).toEqual(before);

    rmSync(join(path, 'node-id'));
    symlinkSync('node-id', join(path, 'node-id'));
    const rounds = vi.spyOn(clock, 'setTimer');
    const look = () => {
      const begun = rounds.mock.calls.length;
      clock.advance(10_000);
      return expect.poll(() => rounds.mock.calls.length).toBe(begun + 1);
    };
    await look();
    await look();
    expect(warn.mock.calls.slice(4)).toEqual([
      [{ folder: path, reason: expect.stringContaining('node-id') }, expect.any(String)],
    ]);
    rmSync(join(path, 'node-id'));

    renameSync(path, `${path}-away`);
    mkdirSync(path);
    clock.advance(10_000);
    await data.withdraw();
    expect(readdirSync(path)).toEqual([]);
  });
});
