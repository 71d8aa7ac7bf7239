/** `transfer`: moves everything from one database to an empty one of the other engine. */
import { databaseFile } from '../config/database-file.ts';
import { loadConfig } from '../config.ts';
import { systemClock } from '../lib/clock.ts';
import { uuidv7 } from '../lib/ids.ts';
import { withoutPassword, withPassword } from '../lib/postgres-url.ts';
import { createSystemRandom } from '../lib/random.ts';
import type { End } from '../transfer/end.ts';
import type { CommandContext, CommandGroup } from './command.ts';
import { withProgress } from './progress.ts';
import { CommandError, table, UsageError } from './terminal.ts';

interface Flags {
  from?: string;
  to?: string;
  send?: boolean;
  dryRun?: boolean;
  cancel?: boolean;
}

/** Measured with 10 KB per message (docs/howto/transfer.md); only for an estimate. */
const ROWS_PER_SECOND = 4_000;

export const transferCommand: CommandGroup = (program) => {
  program
    .command('transfer')
    .description('move everything from SQLite to PostgreSQL or back; no server may run on either')
    .option('--from <database>', 'sqlite:PATH or postgres://user@host/name (default: the key database)')
    .option('--to <database>', 'an empty database of the other engine, in the same form')
    .option('--dry-run', 'only show the amount of data, and whether --to can be used')
    .option('--send', 'do not hold the mail that waits')
    .option('--cancel', 'cancel a transfer that is not finished; servers may use --from again')
    .apart('--cancel', '--dry-run', '--send')
    .apart('--dry-run', '--send')
    .example(
      'postrider transfer --to postgres://postrider@db.example.com/postrider --dry-run',
      'postrider transfer --to postgres://postrider@db.example.com/postrider',
      'postrider transfer --from postgres://postrider@db.example.com/postrider --to sqlite:/var/lib/postrider/new.db',
    )
    .runs(async (ctx, flags: Flags) => {
      try {
        await run(ctx, flags);
      } catch (cause) {
        const { name, message } = cause as Error;
        throw name === 'TransferError' || name === 'StoreRefused' ? new CommandError(message) : cause;
      }
    });
};

async function run(ctx: CommandContext, flags: Flags): Promise<void> {
  // Loaded here, so that other commands start without the engines.
  const { isNewDatabase, openEnd, requireDatabase, requireTwoEngines } = await import(
    '../transfer/open-end.ts'
  );
  const { begunBetween, cancelTransfer, plan, transfer } = await import('../transfer/transfer.ts');
  const { config } = loadConfig('serve', ctx.flags, ctx.terminal.environment);
  const password = config['database-password'];
  const withLogin = (database: string) => (password === null ? database : withPassword(database, password));
  const file = databaseFile(config);
  const from = withLogin(flags.from ?? (file === null ? config.database : `sqlite:${file}`));
  if (flags.cancel === true) {
    given(() => requireDatabase('--from', from));
    await using source = disposable(await openEnd(from, 'source', systemClock));
    await cancelTransfer(source.end);
    ctx.print(
      { From: source.end.name, Canceled: true },
      `The transfer is given up: a server may be started on ${source.end.name}. Empty the other database before it is used again.`,
    );
    return;
  }
  if (flags.to === undefined) throw new UsageError('name the new database with --to');
  const to = withLogin(flags.to);
  given(() => requireTwoEngines(from, to));
  await using source = disposable(
    await openEnd(from, flags.dryRun === true ? 'look' : 'source', systemClock),
  );
  if (flags.dryRun === true) {
    if (!(await isNewDatabase(to))) {
      await using looked = disposable(await openEnd(to, 'look', systemClock));
      await begunBetween(source.end, looked.end);
    }
    return tell(ctx, source.end, await plan(source.end));
  }
  await using target = disposable(await openEnd(to, 'target', systemClock));
  const startedMs = systemClock.monotonicMs();
  const hold =
    flags.send === true
      ? null
      : {
          id: uuidv7(systemClock, createSystemRandom()),
          at: systemClock.now(),
          reason: 'transferred from another database: release it when this server is the one that sends',
          by: 'transfer',
        };
  const done = await withProgress(ctx.terminal, 'rows', (progress) =>
    transfer({
      ...{ source: source.end, target: target.end, clock: systemClock, hold, progress },
      id: uuidv7(systemClock, createSystemRandom()),
    }),
  );
  const seconds = Math.max(1, Math.round((systemClock.monotonicMs() - startedMs) / 1000));
  const held = done.waiting > 0 ? hold : null;
  const shown = target.end.name;
  ctx.print(
    {
      ...{ From: source.end.name, To: shown, Rows: done.rows, Tables: done.tables },
      ...{ ContentsCompared: done.compared, Waiting: done.waiting, Held: held !== null, Seconds: seconds },
    },
    [
      `${done.rows} rows are in ${shown} now (${seconds} s). Both databases have the same number of rows in each table, the same states, and the same octets in the ${done.compared} contents that were compared.`,
      `Set the key database to ${shown}${to !== withoutPassword(to) ? ', with the same password,' : ''} and start the server. It needs the same secret-key. ${source.end.name} is left as it was, but no server starts on it any more.`,
      ...(done.waiting === 0
        ? []
        : [
            held !== null
              ? `${done.waiting} recipients wait. All mail is held until you run: ${ctx.command(`queue release ${held.id}`)}`
              : `${done.waiting} recipients wait and are sent to as soon as the server starts.`,
          ]),
    ].join('\n'),
  );
}

async function tell(
  ctx: CommandContext,
  source: End,
  tables: readonly { table: string; rows: number }[],
): Promise<void> {
  const rows = tables.reduce((sum, one) => sum + one.rows, 0);
  const bytes = await source.bytes();
  const seconds = Math.ceil(rows / ROWS_PER_SECOND);
  ctx.print(
    {
      From: source.name,
      Rows: rows,
      Bytes: bytes,
      Seconds: seconds,
      Tables: tables.map(({ table: Table, rows: Rows }) => ({ Table, Rows })),
    },
    `${table([['TABLE', 'ROWS'], ...tables.map((one) => [one.table, String(one.rows)])])}\n\n${source.name} has ${rows} rows in ${Math.ceil(bytes / 1_048_576)} MiB. A transfer takes about ${seconds < 120 ? `${seconds} s` : `${Math.ceil(seconds / 60)} minutes`}; nothing was changed.`,
  );
}

/** What `check` refuses is what was written for a database, not its state. */
function given(check: () => void): void {
  try {
    check();
  } catch (cause) {
    throw new UsageError((cause as Error).message);
  }
}

/** Closed at the end of the block in any case. */
function disposable(end: End): { end: End } & AsyncDisposable {
  return { end, [Symbol.asyncDispose]: () => end.close() };
}
