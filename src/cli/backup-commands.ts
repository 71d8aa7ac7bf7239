/** `backup` writes everything that a server has into one file, and `restore` makes a data folder from it. */
import { join, resolve } from 'node:path';
import { BackupError, type BackupFacts, restoreBackup, writeBackup } from '../backup.ts';
import { loadConfig } from '../config.ts';
import { systemClock } from '../lib/clock.ts';
import { uuidv7 } from '../lib/ids.ts';
import { createSystemRandom } from '../lib/random.ts';
import { type CommandContext, type CommandGroup, example } from './command.ts';
import { createProgress } from './progress.ts';
import { CommandError } from './terminal.ts';

export const backupCommands: CommandGroup = (program, context) => {
  program
    .command('backup <file>')
    .description('copy database and secrets into one file; the server may be running')
    .addHelpText('after', example('postrider backup /var/backups/postrider-today'))
    .action(async (file: string) => {
      const ctx = context();
      const { folder, database } = places(ctx);
      const facts = await withProgress(ctx, (progress) =>
        writeBackup({ folder, database, file: resolve(file), clock: systemClock, progress }),
      );
      ctx.print(
        { File: resolve(file), ...answer(facts) },
        `${resolve(file)}: ${facts.bytes} octets, with ${facts.files.join(', ')}. It gives full access: keep it as safe as the data folder.`,
      );
    });

  program
    .command('restore <file>')
    .description('create a data folder from a backup; the folder must be empty')
    .option('--send', 'do not hold the mail that was waiting when the backup was made')
    .addHelpText('after', example('postrider restore /var/backups/postrider-today --data /var/lib/postrider'))
    .action(async (file: string, options: { send?: boolean }) => {
      const ctx = context();
      const { folder } = places(ctx);
      const now = systemClock.now();
      const hold = options.send ? null : { id: uuidv7(systemClock, createSystemRandom()), at: now };
      const facts = await withProgress(ctx, (progress) =>
        restoreBackup({ folder, file: resolve(file), hold, progress }),
      );
      const held = facts.waiting > 0 && hold !== null;
      const lines = [`${folder} contains the data of ${facts.createdAt}.`];
      if (facts.waiting > 0) {
        lines.push(
          `${facts.waiting} recipients were waiting at that time. Mail that was sent to them since would be sent again, marked as a possible duplicate.`,
          held
            ? `All mail is held until you run: ${ctx.command('queue release --all')}`
            : 'They are sent as soon as a server starts.',
        );
      }
      ctx.print({ Data: folder, ...answer(facts), Waiting: facts.waiting, Held: held }, lines.join('\n'));
    });
};

function places(ctx: CommandContext): { folder: string; database: string } {
  const { config } = loadConfig('serve', ctx.flags, ctx.terminal.environment);
  if (!config.database.startsWith('sqlite:')) {
    throw new CommandError('only the embedded database is backed up here; use the tools of your database');
  }
  const path = config.database.slice('sqlite:'.length);
  return { folder: config.data, database: path === '' ? join(config.data, 'postrider.db') : path };
}

async function withProgress<Result>(
  ctx: CommandContext,
  work: (progress: (done: number, total: number | null) => void) => Promise<Result>,
): Promise<Result> {
  const progress = createProgress(ctx.terminal.stderr, systemClock, 'octets');
  try {
    return await work((done, total) => progress.at(done, total));
  } catch (cause) {
    if (cause instanceof BackupError) throw new CommandError(cause.message);
    throw cause;
  } finally {
    progress.end();
  }
}

function answer(facts: BackupFacts) {
  return { CreatedAt: facts.createdAt, Schema: facts.schema, Bytes: facts.bytes, Files: facts.files };
}
