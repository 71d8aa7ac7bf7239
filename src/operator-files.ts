/**
 * Files in the data folder by which an operator changes built-in data: `shaping.json`, `reply-rules.json`. They are
 * read at the start, where a mistake prevents it, and again on request (SIGHUP), where a mistake is logged and the old
 * content stays in force. A missing file changes nothing; when a file was removed, its content no longer applies.
 */
import { join } from 'node:path';
import { DATA_FILES } from './lib/data-files.ts';
import { StartRefused } from './lib/errors.ts';
import { type JsonLines, readJson } from './lib/json-lines.ts';
import type { Logger } from './lib/log.ts';
import { readWhole } from './lib/whole-file.ts';
import { whyNot } from './lib/why-not.ts';

export interface OperatorFile {
  /** Name in the data folder. */
  name: string;
  /** Applies the text, or returns every problem and changes nothing. `path`: the name of the file in problems. */
  use(text: string, path: string): readonly string[];
  /** Called if the file does not exist. */
  clear(): void;
}

export interface OperatorFiles {
  /** Throws if a file has a mistake, with every problem of every file. */
  load(): Promise<void>;
  reload(): Promise<void>;
}

/** Reads nothing before `load`. */
export function createOperatorFiles(
  folder: string,
  files: readonly OperatorFile[],
  log: Logger,
): OperatorFiles {
  return {
    async load() {
      const problems: string[] = [];
      for (const file of files) problems.push(...(await read(file)).problems);
      if (problems.length > 0) throw new StartRefused(problems.join('\n'));
    },
    async reload() {
      for (const file of files) {
        const { problems, found } = await read(file);
        const where = join(folder, file.name);
        if (problems.length > 0)
          log.error({ file: where, problems }, `${file.name} was not taken over; what was in force stays`);
        else if (found) log.info({ file: where }, `${file.name} was read`);
      }
    },
  };

  async function read(file: OperatorFile): Promise<{ problems: readonly string[]; found: boolean }> {
    const path = join(folder, file.name);
    const text = await readWhole(path).catch((cause: NodeJS.ErrnoException) => cause);
    if (typeof text === 'string') return { problems: file.use(text, path), found: true };
    if (text.code === 'ENOENT') {
      file.clear();
      return { problems: [], found: false };
    }
    return { problems: [`${path}: cannot be read (${whyNot(text)})`], found: true };
  }
}

/** The operator's shaping data. */
export function shapingFile(shaping: {
  useOperatorFile(
    text: string,
    path: string,
  ): { kind: 'used' } | { kind: 'refused'; problems: readonly string[] };
  useShippedOnly(): void;
}): OperatorFile {
  return {
    name: DATA_FILES.shaping,
    use(text, path) {
      const used = shaping.useOperatorFile(text, path);
      return used.kind === 'used' ? [] : used.problems;
    },
    clear: () => shaping.useShippedOnly(),
  };
}

/** The operator's reply rules. Mistakes come with their position in the list and are reported as lines of the file. */
export function replyRulesFile(rules: {
  useOperatorRules(
    json: unknown,
  ): { kind: 'used' } | { kind: 'kept'; errors: readonly { index: number; id: string; message: string }[] };
}): OperatorFile {
  return {
    name: DATA_FILES.replyRules,
    use(text, path) {
      const json = readJson(text);
      if (!json.ok) return [`${path}: ${json.message}`];
      const twice = json.lines.duplicates.map(
        (pointer) => `${path}: line ${json.lines.lineOf(pointer)}: a key stands twice in one rule; keep one`,
      );
      if (twice.length > 0) return twice;
      const used = rules.useOperatorRules(json.value);
      return used.kind === 'used' ? [] : used.errors.map((error) => ruleProblem(path, json.lines, error));
    },
    clear() {
      rules.useOperatorRules([]);
    },
  };
}

function ruleProblem(
  path: string,
  lines: JsonLines,
  { index, id, message }: { index: number; id: string; message: string },
): string {
  if (index < 0) return `${path}: line 1: ${message}; write [ … ] around the rules`;
  const rule = id === '' ? `rule ${index + 1}` : `rule ${index + 1} ("${id}")`;
  return `${path}: line ${lines.lineOf(`/${index}`)}: ${rule}: ${message}`;
}
