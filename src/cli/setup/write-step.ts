/**
 * Shows what `setup` will write, and writes it: the data folder (0700), `postrider.json` (0600), the systemd unit and
 * its account. Each file is replaced in one step or stays unchanged; steps that are already done are skipped.
 */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdir, readFile, realpath, stat } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { DATA_FILES, makeFolder } from '../../lib/data-files.ts';
import { writeWhole } from '../../lib/whole-file.ts';
import { whyNot } from '../../lib/why-not.ts';
import { idsOf } from '../files.ts';
import { CommandError, UsageError } from '../terminal.ts';
import { type ConfigObject, fileText, isSame, mergeAnswers, shownChange } from './config-file.ts';
import { folderProblem, launcherPath } from './folder-step.ts';
import type { Setup } from './setup.ts';
import { CREDENTIAL_KEYS, unitText, WRITTEN } from './unit-file.ts';

const run = promisify(execFile);
const UNIT = '/etc/systemd/system/postrider.service';
const ACCOUNT = 'postrider';

/** What will be written, after the person has seen and confirmed it. */
export interface Plan {
  /** `systemctl` works with the unit. */
  installed: boolean;
  /** Whether `postrider.json` or the unit is new or changed. */
  changed: boolean;
  /** The account that the server runs as by its unit; null = there is none. */
  user: string | null;
  write(): Promise<void>;
}

/** Compares, shows and asks; writes nothing. Throws CommandError if the answer is no. */
export async function agreePlan(setup: Setup): Promise<Plan> {
  const { ask, data, report } = setup;
  const file = await configPath(data);
  const before = await readObject(file);
  const after = mergeAnswers(before ?? {}, setup.answers);
  const unit = await chooseUnit(setup);
  const lines: string[] = [];
  const folder = existsSync(data) ? await stat(data) : null;
  const open = folder !== null && (folder.mode & 0o077) !== 0;
  if (folder === null) lines.push(`Make the folder ${data}, for its owner alone (0700).`);
  else if (open) lines.push(`Close the folder ${data} to other users (0700).`);
  const newConfig = before === null || !isSame(before, after);
  if (newConfig)
    lines.push(`${before === null ? 'Write' : 'Change'} ${file} (0600):`, ...shownChange(before, after));
  if (unit?.newAccount === true) lines.push(`Make the system account ${unit.user}.`);
  if (unit !== null && (await isGiven(unit, folder?.uid ?? 0)))
    lines.push(`Give ${data} and everything in it to the account ${unit.user}.`);
  const newUnit = unit !== null && unit.text !== unit.before;
  if (newUnit) lines.push(`Write ${unit.path}:`, ...shownText(unit.before, unit.text));
  const plan = { installed: unit?.path === UNIT, changed: newConfig || newUnit, user: unit?.user ?? null };
  if (lines.length === 0) {
    setup.say(`${file} says all this already; nothing to write.`);
    return { ...plan, write: async () => undefined };
  }
  setup.say(`\n${lines.join('\n')}\n`);
  if (!(await ask.agree({ message: 'Write this?', initial: true })))
    throw new CommandError('nothing was written');
  return { ...plan, write };

  /** Throws CommandError if a file cannot be written; none is left half written. */
  async function write(): Promise<void> {
    if (unit?.newAccount === true) await makeAccount(unit.user, data);
    await writing(data, async () => {
      makeFolder(data);
      if (open) await chmod(data, 0o700);
    });
    if (newConfig) {
      await writing(file, () => writeWhole(file, fileText(after), 0o600));
      report.Written.push(file);
    }
    if (newUnit) {
      await writing(unit.path, async () => {
        await mkdir(dirname(unit.path), { recursive: true });
        await writeWhole(unit.path, unit.text, 0o644);
      });
      report.Written.push(unit.path);
      if (plan.installed) await run('systemctl', ['daemon-reload']).catch(() => undefined);
    }
  }
}

async function writing(path: string, work: () => Promise<unknown>): Promise<void> {
  try {
    await work();
  } catch (cause) {
    throw new CommandError(`${path} cannot be written: ${whyNot(cause)}; what was there is as it was`);
  }
}

/** The target of a symbolic link, so that the link stays. */
async function configPath(data: string): Promise<string> {
  const path = join(data, DATA_FILES.config);
  return realpath(path).catch(() => path);
}

/** The content, which `loadConfig` has accepted. */
async function readObject(file: string): Promise<ConfigObject | null> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as ConfigObject;
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw cause;
  }
}

interface Unit {
  path: string;
  /** What is there; null = nothing. */
  before: string | null;
  text: string;
  user: string;
  newAccount: boolean;
}

async function chooseUnit(setup: Setup): Promise<Unit | null> {
  const { ask, data, options } = setup;
  if (options.unit === false) return null;
  const root = process.getuid?.() === 0;
  const systemd = existsSync('/run/systemd/system');
  if (options.unit === undefined) {
    if (!root || !systemd) return null;
    if (
      !(await ask.agree({
        message: 'Let systemd run the server (from the start of the machine)?',
        initial: true,
      }))
    )
      return null;
  }
  const path = resolve(options.unit ?? UNIT);
  const wrong = await folderProblem(dirname(path), '--unit');
  if (wrong !== null) throw new UsageError(wrong);
  const owner = existsSync(data) ? (await stat(data)).uid : null;
  const user = options.user ?? (root ? await accountFor(owner) : userInfo().username);
  const { config } = setup.load();
  // An account is created only for the unit of this machine. For another path, its name may be a mistake.
  if (path !== UNIT && (await idsOf(user)) === null)
    setup.say(
      `Warning: this machine has no account ${user}. Make it before the unit is started, or name another with --user.`,
    );
  const listeners = [config.http, config.submission, config['submission-tls'], config.returns];
  const handedOver = (key: (typeof CREDENTIAL_KEYS)[number]) => {
    const file = config[key];
    return file === null ? [] : [{ key, file }];
  };
  const launcher = launcherPath();
  if (root && user !== 'root') await warnOfReach(setup, [process.execPath, launcher], user);
  const text = unitText({
    program: [process.execPath, launcher],
    data,
    user,
    lowPorts: user !== 'root' && listeners.some((at) => at !== null && at.port > 0 && at.port < 1024),
    credentials: root && user !== 'root' ? CREDENTIAL_KEYS.flatMap(handedOver) : [],
  });
  const before = await unitBefore(path);
  if (before !== null && !before.startsWith(WRITTEN) && !(await mayReplace(setup, path, before, text)))
    return { path, before, text: before, user: userOf(before), newAccount: false };
  return { path, before, text, user, newAccount: root && path === UNIT && (await idsOf(user)) === null };
}

async function unitBefore(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8');
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw new CommandError(`${path} cannot be read: ${whyNot(cause)}. Nothing was written`);
  }
}

/** A unit that somebody else wrote may contain settings, such as a route, that the server would lose. */
async function mayReplace({ ask, say }: Setup, path: string, before: string, text: string): Promise<boolean> {
  if (!ask.asks)
    throw new UsageError(
      `${path} was not written by setup: move its settings to postrider.json, or to a file of ${path}.d, and the unit out of the way; or give --no-unit`,
    );
  say(
    `\n${path} was not written by setup. Replaced, it would change so:\n${shownText(before, text).join('\n')}\n`,
  );
  return ask.agree({ message: 'Replace it (its own settings are lost)?', initial: false });
}

/** The account that a unit names. */
function userOf(unit: string): string {
  return /^User=(.+)$/m.exec(unit)?.[1]?.trim() ?? 'root';
}

/** A text as it will be. If the file exists, removed lines come first, with `-`, then added lines with `+`. */
function shownText(before: string | null, after: string): readonly string[] {
  const [old, now] = [before ?? after, after].map((text) => text.trimEnd().split('\n')) as [
    string[],
    string[],
  ];
  return [
    ...old.filter((line) => !now.includes(line)).map((line) => `- ${line}`),
    ...now.map((line) => `${old.includes(line) ? ' ' : '+'} ${line}`),
  ];
}

/** The present owner of the folder, unless that is root. */
async function accountFor(owner: number | null): Promise<string> {
  if (owner === null || owner === 0) return ACCOUNT;
  try {
    return (await run('id', ['-nu', String(owner)])).stdout.trim();
  } catch {
    return ACCOUNT;
  }
}

async function makeAccount(user: string, data: string): Promise<void> {
  try {
    await run('useradd', [
      '--system',
      '--user-group',
      '--no-create-home',
      '--home-dir',
      data,
      '--shell',
      '/usr/sbin/nologin',
      user,
    ]);
  } catch (cause) {
    throw new CommandError(
      `the account ${user} cannot be made: ${(cause as Error).message.split('\n').at(-2) ?? ''}; make it, or name another with --user. Nothing was written`,
    );
  }
}

/** Other accounts cannot start a program in a folder that only root may enter. */
async function warnOfReach(setup: Setup, files: readonly string[], user: string): Promise<void> {
  for (const file of files) {
    for (let at = dirname(file); at !== '/'; at = dirname(at)) {
      if (((await stat(at)).mode & 0o001) !== 0) continue;
      setup.say(
        `Warning: ${user} cannot enter ${at}, where ${file} is. Install postrider elsewhere, e.g. in /opt.`,
      );
      break;
    }
  }
}

/** Whether the folder belongs to another account than the unit's, and must be given to it. */
async function isGiven(unit: Unit, owner: number): Promise<boolean> {
  if (process.getuid?.() !== 0) return false;
  if (unit.newAccount) return true;
  const ids = await idsOf(unit.user);
  return ids !== null && ids.uid !== 0 && ids.uid !== owner;
}
