/** The data folder: which one, and whether this user can use it. Only reads; `write-step.ts` creates the folder. */
import { constants, existsSync } from 'node:fs';
import { access, readdir, realpath, stat } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { dirname, join, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { DATA_FILES } from '../../lib/data-files.ts';
import { whyNot } from '../../lib/why-not.ts';
import { UsageError } from '../terminal.ts';
import type { Ask } from './ask.ts';

/** The data folder of a server that systemd starts. */
const SYSTEM_FOLDER = '/var/lib/postrider';
const USUAL_FOLDER = './postrider-data';
/** Every data folder has at least one of these files. */
const MARKS: readonly string[] = [DATA_FILES.config, DATA_FILES.database, DATA_FILES.nodeId];

/** The program as it was installed. */
export function launcherPath(): string {
  return fileURLToPath(new URL('../../../bin/postrider', import.meta.url));
}

/** The folder as a full path. `named`: by flag or environment. Throws UsageError if it cannot be used. */
export async function chooseFolder(ask: Ask, named: string | undefined): Promise<string> {
  const problem = async (folder: string) =>
    (await folderProblem(resolve(folder))) ?? (await contentProblem(resolve(folder)));
  if (named !== undefined) {
    const wrong = await problem(named);
    if (wrong !== null) throw new UsageError(wrong);
    return resolve(named);
  }
  const before = [USUAL_FOLDER, SYSTEM_FOLDER].filter((folder) =>
    existsSync(join(folder, DATA_FILES.config)),
  );
  const [only] = before;
  let initial = process.getuid?.() === 0 ? SYSTEM_FOLDER : USUAL_FOLDER;
  if (only !== undefined && before.length === 1) initial = only;
  for (let before = ''; ; ) {
    const folder = await ask.text({
      flag: '--data',
      message: `${before}Folder for the database, keys and settings`,
      initial,
    });
    const wrong = await problem(folder);
    if (wrong === null) return resolve(folder);
    if (!ask.asks) throw new UsageError(wrong);
    // Asked again below the reason, without the hint at a flag.
    before = `${wrong.replace(/; [^;]*--data$/, '')}. Another one, please.\n`;
  }
}

/** Why this user cannot use a folder, with a fix; null if it can be used, or created if it is missing. */
export async function folderProblem(folder: string, flag = '--data'): Promise<string | null> {
  const fix = `run setup as its owner or with sudo, or choose another with ${flag}`;
  for (let at = folder; ; at = dirname(at)) {
    try {
      if (!(await stat(at)).isDirectory()) return `${at} is not a folder; choose another with ${flag}`;
      await access(at, constants.R_OK | constants.W_OK | constants.X_OK);
      return null;
    } catch (cause) {
      const { code } = cause as NodeJS.ErrnoException;
      if (code === 'ENOTDIR' || (code === 'ENOENT' && at !== '/')) continue;
      if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS') {
        const why =
          code === 'EROFS' ? 'its file system is read-only' : `${userInfo().username} may not write to it`;
        return `${at === folder ? 'The folder' : `${folder} cannot be made in`} ${at}: ${why}; ${fix}`;
      }
      return `${at} cannot be used: ${whyNot(cause)}; ${fix}`;
    }
  }
}

/**
 * Why the content of a folder does not allow to make it private and give it to the server's account; null if it does.
 */
async function contentProblem(folder: string): Promise<string | null> {
  if (!existsSync(folder)) return null;
  const fix = 'choose an empty or a new folder with --data';
  const at = await realpath(folder);
  const launcher = await realpath(launcherPath());
  if (launcher.startsWith(at.endsWith(sep) ? at : `${at}${sep}`))
    return `${folder} holds the program itself (${launcher}); ${fix}`;
  // The root of a file system contains `lost+found`.
  const names = (await readdir(at)).filter((name) => name !== 'lost+found');
  if (names.length === 0 || names.some((name) => MARKS.includes(name))) return null;
  return `${folder} holds other files and no data of postrider; ${fix}`;
}
