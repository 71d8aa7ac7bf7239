/**
 * Shows what `setup` is about to write, and writes it: the data folder (0700), `postrider.json` (0600), the systemd unit with
 * its account. Each file is replaced at once or stays as it was; what is there already is skipped.
 */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, lchown, mkdir, readdir, readFile, realpath, stat } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { writeWhole } from '../../lib/whole-file.ts';
import { whyNot } from '../files.ts';
import { CommandError, UsageError } from '../terminal.ts';
import { type ConfigObject, fileText, isSame, mergeAnswers, shownChange } from './config-file.ts';
import { folderProblem } from './folder-step.ts';
import type { Setup } from './setup.ts';
import { unitText } from './unit-file.ts';

const run = promisify(execFile);
const UNIT = '/etc/systemd/system/postrider.service';
const ACCOUNT = 'postrider';

/** Where the unit is, and whether systemd knows it by its name. */
export interface Written {
  unit: string | null;
  /** `systemctl` works with it. */
  installed: boolean;
  /** `postrider.json` or the unit is new or differs. */
  changed: boolean;
}

/** Throws CommandError where the answer is no, or a file cannot be written; nothing is half-written then. */
export async function showAndWrite(setup: Setup): Promise<Written> {
  const { ask, data, report } = setup;
  const file = await configPath(data);
  const before = await readObject(file);
  const after = mergeAnswers(before ?? {}, setup.answers);
  const unit = await chooseUnit(setup);
  const plan: string[] = [];
  const folderMode = existsSync(data) ? (await stat(data)).mode & 0o777 : null;
  if (folderMode === null) plan.push(`Make the folder ${data}, for its owner alone (0700).`);
  else if ((folderMode & 0o077) !== 0) plan.push(`Close the folder ${data} to other users (0700).`);
  const newConfig = before === null || !isSame(before, after);
  if (newConfig)
    plan.push(`${before === null ? 'Write' : 'Change'} ${file} (0600):`, ...shownChange(before, after));
  if (unit?.newAccount === true) plan.push(`Make the system account ${unit.user}.`);
  const newUnit = unit !== null && (await readFile(unit.path, 'utf8').catch(() => '')) !== unit.text;
  if (newUnit)
    plan.push(
      `Write ${unit.path}:`,
      ...unit.text
        .trimEnd()
        .split('\n')
        .map((line) => `  ${line}`),
    );
  const done: Written = {
    unit: unit?.path ?? null,
    installed: unit?.path === UNIT,
    changed: newConfig || newUnit,
  };
  if (plan.length === 0) {
    setup.say(`${file} says all this already; nothing to write.`);
    return done;
  }
  setup.say(`\n${plan.join('\n')}\n`);
  if (!(await ask.agree({ message: 'Write this?', initial: true })))
    throw new CommandError('nothing was written');
  if (unit?.newAccount === true) await makeAccount(unit.user, data);
  await writing(data, async () => {
    await mkdir(data, { recursive: true, mode: 0o700 });
    if (folderMode !== null && (folderMode & 0o077) !== 0) await chmod(data, 0o700);
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
    if (done.installed) await run('systemctl', ['daemon-reload']).catch(() => undefined);
  }
  return done;
}

async function writing(path: string, work: () => Promise<unknown>): Promise<void> {
  try {
    await work();
  } catch (cause) {
    throw new CommandError(`${path} cannot be written: ${whyNot(cause)}; what was there is as it was`);
  }
}

/** Of a link, what it leads to: it stays a link. */
async function configPath(data: string): Promise<string> {
  const path = join(data, 'postrider.json');
  return realpath(path).catch(() => path);
}

/** The content, which `loadConfig` has found good. */
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
  const listeners = [config.http, config.submission, config['submission-tls'], config.returns];
  const { 'tls-cert': cert, 'tls-key': key } = config;
  const launcher = fileURLToPath(new URL('../../../bin/postrider', import.meta.url));
  if (root && user !== 'root') await warnOfReach(setup, [process.execPath, launcher], user);
  return {
    path,
    user,
    newAccount: root && path === UNIT && !(await accountExists(user)),
    text: unitText({
      program: [process.execPath, launcher],
      data,
      user,
      lowPorts: user !== 'root' && listeners.some((at) => at !== null && at.port > 0 && at.port < 1024),
      credentials: root && user !== 'root' && cert !== null && key !== null ? { cert, key } : null,
    }),
  };
}

/** The account that owns the folder already, unless that is root. */
async function accountFor(owner: number | null): Promise<string> {
  if (owner === null || owner === 0) return ACCOUNT;
  try {
    return (await run('id', ['-nu', String(owner)])).stdout.trim();
  } catch {
    return ACCOUNT;
  }
}

async function accountExists(user: string): Promise<boolean> {
  return run('id', ['-u', user]).then(
    () => true,
    () => false,
  );
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

/** A program below a folder of root's own cannot be started by another account. */
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

/** As root: what this command made in the data folder is given to the owner of the server. */
export async function giveToOwner(data: string, unit: string | null): Promise<void> {
  if (process.getuid?.() !== 0 || !existsSync(data)) return;
  const user =
    unit === null ? undefined : /^User=(.+)$/m.exec(await readFile(unit, 'utf8').catch(() => ''))?.[1];
  let { uid, gid } = await stat(data);
  if (user !== undefined && (await accountExists(user))) {
    [uid, gid] = [
      Number((await run('id', ['-u', user])).stdout),
      Number((await run('id', ['-g', user])).stdout),
    ];
  }
  if (uid === 0) return;
  await lchown(data, uid, gid);
  for (const name of await readdir(data, { recursive: true })) await lchown(join(data, name), uid, gid);
}
