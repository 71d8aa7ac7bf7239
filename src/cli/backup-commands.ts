/**
 * `backup` writes the database and its secrets into one file, `restore` makes a data folder from it, and `rollback` goes
 * back to before an upgrade.
 */
import { rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { BackupError, type BackupFacts, restoreBackup, unfinished, wayBack, writeBackup } from '../backup.ts';
import { databaseFile } from '../config/database-file.ts';
import { loadConfig } from '../config.ts';
import { systemClock } from '../lib/clock.ts';
import { DATA_FILES } from '../lib/data-files.ts';
import { uuidv7 } from '../lib/ids.ts';
import { createSystemRandom } from '../lib/random.ts';
import type { CommandContext, CommandGroup } from './command.ts';
import { confirm, YES } from './confirm.ts';
import { giveToOwner } from './files.ts';
import { withProgress } from './progress.ts';
import { CommandError } from './terminal.ts';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

export const backupCommands: CommandGroup = (program) => {
  program
    .command('backup <file>')
    .description('copy database and secrets into one file; the server may be running')
    .example('postrider backup /var/backups/postrider-today')
    .runs(async (ctx, file: string) => {
      const { folder, database } = places(ctx);
      const to = resolve(file);
      // At once, because the copy of a large database takes minutes and cannot be stopped.
      const interrupted = (signal: NodeJS.Signals) => {
        for (const one of Object.values(unfinished(to))) rmSync(one, { force: true });
        process.kill(process.pid, signal);
      };
      for (const signal of SIGNALS) process.once(signal, interrupted);
      const facts = await withProgress(ctx.terminal, 'octets', (progress) =>
        writeBackup({ folder, database, file: to, clock: systemClock, progress }),
      )
        .catch(explained)
        .finally(() => {
          for (const signal of SIGNALS) process.removeListener(signal, interrupted);
        });
      ctx.print(
        { File: to, ...answer(facts) },
        `${to}: ${facts.bytes} octets, with ${facts.files.join(', ')}. It gives full access: keep it as safe as the data folder. ${DATA_FILES.config} and certificates are not in it: keep copies of your own.`,
      );
    });

  program
    .command('restore <file>')
    .description('create a data folder from a backup; the folder must be empty')
    .option('--send', 'do not hold the mail that was waiting when the backup was made')
    .example('postrider restore /var/backups/postrider-today --data /var/lib/postrider')
    .runs(async (ctx, file: string, options: { send?: boolean }) => {
      const { folder, database } = places(ctx);
      const restored = join(folder, DATA_FILES.database);
      if (resolve(database) !== resolve(restored))
        throw new CommandError(
          `the restored database is ${restored}, but a server would use ${database}, which the key database (POSTRIDER_DATABASE) names: remove that key, and repeat the command`,
        );
      const hold = options.send
        ? null
        : newHold('restore', 'restored from a backup: what waits may have been sent after it was made');
      const facts = await withProgress(ctx.terminal, 'octets', (progress) =>
        restoreBackup({ folder, file: resolve(file), hold, progress }),
      ).catch(explained);
      await giveToOwner(folder);
      const held = facts.waiting > 0 ? hold : null;
      const lines = [
        `${folder} contains the data of ${facts.createdAt}.`,
        `A backup has no configuration: put your ${DATA_FILES.config} there before the server starts, without the key database: the restored one is ${restored}. Without the file the defaults apply: mail goes directly to the recipients' servers.`,
      ];
      if (facts.waiting > 0) {
        lines.push(
          `${facts.waiting} recipients were waiting at that time. Mail that was sent to them since would be sent again, marked as a possible duplicate.`,
          held !== null
            ? `All mail is held until you run: ${ctx.command(`queue release ${held.id}`)}`
            : 'They are sent as soon as a server starts.',
        );
      }
      ctx.print(
        { Data: folder, ...answer(facts), Waiting: facts.waiting, Held: held !== null },
        lines.join('\n'),
      );
    });

  program
    .command('rollback')
    .description('go back to the copy made before the last upgrade; the server must be stopped')
    .option('--send', 'do not hold the mail that was waiting when the copy was made')
    .option(...YES)
    .example('postrider rollback --data /var/lib/postrider')
    .runs(async (ctx, options: { send?: boolean; yes?: boolean }) => {
      const { folder, database } = places(ctx);
      const way = wayBack(folder, database);
      try {
        const madeAt = new Date(way.madeAt).toISOString();
        ctx.terminal.stderr.write(
          `The copy is of ${madeAt}. Messages accepted since: ${way.accepted}; recipients of these who wait and would get nothing: ${way.waiting}. Events, suppressions, tokens and all other changes since are lost too.\n`,
        );
        await confirm(ctx.terminal, `Go back to the copy of ${madeAt}`, options.yes);
        const hold = options.send
          ? null
          : newHold('rollback', 'back to before an upgrade: what waits may have been sent since');
        const { newer, waiting } = await way.go(hold);
        const held = waiting > 0 ? hold : null;
        const lines = [
          `The database is that of ${madeAt} again (schema ${way.to}); the newer one is kept as ${newer}.`,
          'Start the version of postrider that you had before: this one would migrate the database again.',
        ];
        if (waiting > 0) {
          lines.push(
            held !== null
              ? `${waiting} recipients are held, because they may have got their mail since. Release them with: ${ctx.command(`queue release ${held.id}`)}`
              : `${waiting} recipients are sent to as soon as a server starts.`,
          );
        }
        ctx.print(
          {
            ...{ CreatedAt: madeAt, Schema: way.to, NewerSchema: way.from, Newer: newer },
            ...{ Accepted: way.accepted, Lost: way.waiting, Waiting: waiting, Held: held !== null },
          },
          lines.join('\n'),
        );
      } finally {
        way.release();
        await giveToOwner(folder);
      }
    });
};

function newHold(by: 'restore' | 'rollback', reason: string) {
  return { id: uuidv7(systemClock, createSystemRandom()), at: systemClock.now(), reason, by };
}

function places(ctx: CommandContext): { folder: string; database: string } {
  const { config } = loadConfig('serve', ctx.flags, ctx.terminal.environment);
  const database = databaseFile(config);
  if (database === null) {
    throw new CommandError(
      'the database is PostgreSQL: save it by pg_dump, and the file secret-key with it; put it back by pg_restore while no server runs',
    );
  }
  return { folder: config.data, database };
}

function explained(cause: unknown): never {
  throw cause instanceof BackupError ? new CommandError(cause.message) : cause;
}

function answer(facts: BackupFacts) {
  return { CreatedAt: facts.createdAt, Schema: facts.schema, Bytes: facts.bytes, Files: facts.files };
}
