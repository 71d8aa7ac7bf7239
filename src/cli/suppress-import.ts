/**
 * `suppress import` adds the addresses of a file to the list. It first prints how it read the file and what it did
 * not understand. If it did not understand something or had to guess, it asks before it stores anything.
 */

import type { SuppressionsAdded } from '../client/api-types.ts';
import { systemClock } from '../lib/clock.ts';
import { SUPPRESSION_REASONS, type SuppressionReason } from '../model/suppression.ts';
import {
  type ImportItem,
  type ImportPlan,
  ImportProblem,
  type ImportSheet,
  planImport,
  portionsOf,
  readSheet,
} from '../policy/suppressions/import-file.ts';
import { FIELDS, type Field, PRESETS, plainName } from '../policy/suppressions/import-presets.ts';
import type { Api } from './api-client.ts';
import { each, oneOf } from './arguments.ts';
import type { CommandContext, ContextCommand } from './command.ts';
import { confirm, YES } from './confirm.ts';
import { readBytes } from './files.ts';
import { warnOfUnknownDomains } from './known-domain.ts';
import { withProgress } from './progress.ts';
import { CommandError, counted, Failure, printable, shortened, UsageError } from './terminal.ts';

const MAX_SHOWN = 10;
const DEFAULT_REASON = 'Manual' satisfies SuppressionReason;

interface Options {
  domain: string;
  reason?: SuppressionReason;
  preset?: string;
  column?: string[];
  map?: string[];
  skipInvalid?: boolean;
  dryRun?: boolean;
  yes?: boolean;
}

export function addImport(suppress: ContextCommand): void {
  suppress
    .command('import <file>')
    .description(
      'add the addresses of a file to the suppression list: CSV, or JSON of another service; - reads standard input',
    )
    .requiredOption('--domain <domain>', 'sender domain of the list')
    .option(
      '--reason <reason>',
      `reason for rows without one (default ${DEFAULT_REASON})`,
      oneOf(SUPPRESSION_REASONS),
    )
    .option(
      '--preset <name>',
      `the service that exported the file: ${Object.keys(PRESETS).join(', ')}`,
      oneOf(Object.keys(PRESETS)),
    )
    .option(
      '--column <field=column>',
      'the column of Email, Reason, Note or ExpiresAt, by name or number; may be repeated',
      each(),
    )
    .option(
      '--map <word=reason>',
      'the reason that a word of the file means, e.g. gone=Bounce; may be repeated',
      each(),
    )
    .option('--skip-invalid', 'skip rows without an address')
    .option('--dry-run', 'show what would be stored, and store nothing')
    .option(...YES)
    .example(
      'postrider suppress import --domain example.com list.csv',
      "postrider suppress import --domain example.com --column 'Email=Contact' --map gone=Bounce list.csv",
    )
    .runs(async (ctx, file: string, options: Options) => {
      const sheet = sheetOf((await readBytes(file, ctx.terminal.stdin)).toString('utf8'));
      const plan = planImport(
        sheet,
        {
          reason: options.reason ?? DEFAULT_REASON,
          ...(options.preset === undefined ? {} : { preset: options.preset }),
          columns: columnsOf(sheet, options.column ?? []),
          words: wordsOf(options.map ?? []),
        },
        systemClock.now(),
      );
      if (plan.columns.Email === undefined) {
        throw new UsageError(
          `no column is known to hold addresses; name it with --column Email=…; the file has: ${sheet.names.join(', ')}`,
        );
      }
      const lacksReason = plan.lacksReason && options.reason === undefined;
      const text = planText(plan, lacksReason);
      if (options.dryRun === true) {
        ctx.print(planFacts(plan), text);
        return;
      }
      if (plan.invalid.length > 0 && options.skipInvalid !== true) {
        throw new CommandError(
          `${invalidText(plan)}\nNothing was stored; correct the file, or skip these rows with --skip-invalid`,
        );
      }
      const { stderr } = ctx.terminal;
      if (isDoubtful(plan) || lacksReason) {
        stderr.write(`${text}\n`);
        await confirm(ctx.terminal, `Put ${plan.items.length} addresses on the list like this`, options.yes);
      } else if (stderr.isTTY === true) stderr.write(`${text}\n`);
      const done = await store(ctx, options.domain, plan);
      ctx.print(done, addedText(done));
    });
}

/** Part of the file was not understood, or a reason was guessed. */
function isDoubtful(plan: ImportPlan): boolean {
  return plan.unknownColumns.length > 0 || plan.unknownReasons.size > 0 || plan.guessedReason !== null;
}

function planFacts(plan: ImportPlan) {
  return {
    Addresses: plan.items.length,
    Preset: plan.preset,
    Columns: plan.columns,
    Reasons: Object.fromEntries(plan.byReason),
    UnknownColumns: plan.unknownColumns,
    UnknownReasons: Object.fromEntries(plan.unknownReasons),
    Invalid: plan.invalid.map(({ line, text }) => ({ Line: line, Text: text })),
    Expired: plan.expired,
  };
}

function planText(plan: ImportPlan, lacksReason: boolean): string {
  const of =
    plan.preset === null
      ? ''
      : ` The file looks like an export of ${PRESETS[plan.preset]?.of ?? ''} (--preset ${plan.preset}).`;
  const columns = Object.entries(plan.columns).map(([field, name]) => `${field} from "${printable(name)}"`);
  const reasons = [...plan.byReason].map(([reason, count]) => `${count} ${reason}`);
  return [
    `${plan.items.length} addresses: ${reasons.join(', ') || 'none'}.${of}`,
    `Read: ${columns.join(', ')}.`,
    ...(plan.unknownColumns.length === 0
      ? []
      : [`Ignored columns: ${shortList(plan.unknownColumns)}. To use one: --column Reason=NAME.`]),
    ...(plan.unknownReasons.size === 0
      ? []
      : [
          `Reasons that are not known here, kept as a note: ${shortList(
            [...plan.unknownReasons].map(([word, count]) => `${word} (${count})`),
          )}. Say what one means with --map WORD=${SUPPRESSION_REASONS[0]}.`,
        ]),
    ...(lacksReason
      ? [
          `No column says a reason, so all are ${DEFAULT_REASON}: nothing at all is sent to them. Say the reason with --reason, or whose export it is with --preset.`,
        ]
      : []),
    ...(plan.expired === 0 ? [] : [`Left out: ${plan.expired} that have expired.`]),
    ...(plan.invalid.length === 0 ? [] : [invalidText(plan)]),
  ].join('\n');
}

function invalidText({ invalid }: ImportPlan): string {
  const lines = invalid
    .slice(0, MAX_SHOWN)
    .map(({ line, text, problem }) => `line ${line}: "${shortened(text, 80)}" ${problem}`);
  const more = invalid.length > MAX_SHOWN ? `, and ${invalid.length - MAX_SHOWN} more` : '';
  return `Without an address: ${lines.join(', ')}${more}.`;
}

function shortList(names: readonly string[]): string {
  const shown = names.slice(0, MAX_SHOWN).map((name) => shortened(name, 80));
  return names.length > MAX_SHOWN
    ? `${shown.join(', ')} and ${names.length - MAX_SHOWN} more`
    : shown.join(', ');
}

function sheetOf(text: string): ImportSheet {
  try {
    return readSheet(text);
  } catch (cause) {
    throw cause instanceof ImportProblem ? new UsageError(cause.message) : cause;
  }
}

/** `Email=Mail address`: a column by its name, or by its number from 1. */
function columnsOf(sheet: ImportSheet, said: readonly string[]): Partial<Record<Field, number>> {
  const plain = sheet.names.map(plainName);
  const places: Partial<Record<Field, number>> = {};
  for (const text of said) {
    const [name, column] = splitOnce(text);
    const field = FIELDS.find((each) => each.toLowerCase() === name.trim().toLowerCase());
    if (field === undefined || column === '') {
      throw new UsageError(
        `--column "${text}": write one of ${FIELDS.join(', ')}, = and a column, e.g. Email=Mail`,
      );
    }
    const at = plain.indexOf(plainName(column));
    const place = at >= 0 ? at : /^[1-9]\d{0,3}$/.test(column) ? Number(column) - 1 : -1;
    if (place < 0 || place >= sheet.names.length) {
      throw new UsageError(`there is no column "${column}"; the file has: ${sheet.names.join(', ')}`);
    }
    places[field] = place;
  }
  return places;
}

/** The parts before and after the first `=`. */
function splitOnce(text: string): [string, string] {
  const at = text.indexOf('=');
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1).trim()];
}

function wordsOf(given: readonly string[]): ReadonlyMap<string, SuppressionReason> {
  return new Map(
    given.map((text) => {
      const [word, to] = splitOnce(text);
      const reason = SUPPRESSION_REASONS.find((one) => one.toLowerCase() === to.toLowerCase());
      if (reason === undefined || word === '') {
        throw new UsageError(
          `--map "${text}": write a word of the file, = and one of ${SUPPRESSION_REASONS.join(', ')}`,
        );
      }
      return [plainName(word), reason] as const;
    }),
  );
}

async function store(ctx: CommandContext, domain: string, { items }: ImportPlan): Promise<SuppressionsAdded> {
  const done: SuppressionsAdded = { Added: 0, Existing: 0 };
  await withProgress(ctx.terminal, 'addresses', (progress) =>
    ctx.withApi(async (api) => {
      let sent = 0;
      for (const chunk of portionsOf(items)) {
        const rows = chunk.map(({ item }) => item);
        const { Added, Existing } = await sendItems(api, domain, rows).catch((cause: unknown) => {
          throw withLines(cause, chunk, done);
        });
        done.Added += Added;
        done.Existing += Existing;
        sent += chunk.length;
        progress(sent, items.length);
      }
      await warnOfUnknownDomains(ctx, api, [domain]);
    }),
  );
  return done;
}

/** A refusal names items of one request; people look for lines of their file. */
function withLines(cause: unknown, chunk: readonly { line: number }[], done: SuppressionsAdded): unknown {
  if (!(cause instanceof Failure)) return cause;
  const errors = cause.errors as readonly { Message?: string; Field?: string }[];
  const lines = errors.map(({ Message, Field }) => {
    const row = chunk[Number(/^\/Items\/(\d{1,4})/.exec(Field ?? '')?.[1])];
    return row === undefined ? null : `${Message} (line ${row.line})`;
  });
  const text = lines.length > 0 && !lines.includes(null) ? lines.join('\n') : cause.message;
  const stored = done.Added + done.Existing;
  return new CommandError(
    stored === 0
      ? text
      : `${text}\n(the first ${stored} addresses are on the list; importing again is harmless)`,
  );
}

/** Puts `items` on the list of a domain. */
export function sendItems(
  api: Api,
  domain: string,
  items: readonly ImportItem[],
): Promise<SuppressionsAdded> {
  return api.call('POST', '/suppressions', { Domain: domain, Items: items });
}

/** How many addresses were added, and how many were on the list already. */
export function addedText({ Added, Existing }: SuppressionsAdded): string {
  const there = Existing === 0 ? '' : ` ${counted(Existing, 'was', 'were')} on the list already.`;
  return `Added ${counted(Added, 'address', 'addresses')}.${there}`;
}
