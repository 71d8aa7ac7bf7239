/** `warmup` shows the warm-up step of each new source at each provider; `warmup plan` prints the calendar of a warm-up. */

import type { Warmup } from '../client/api-types.ts';
import type { Page } from '../client/many.ts';
import { dayOf } from '../lib/instant.ts';
import { warmupPlan } from '../policy/limits/warmup/plan.ts';
import type { CommandGroup } from './command.ts';
import { printPages } from './lists.ts';
import { table, tableOf, UsageError } from './terminal.ts';

const MAX_PER_DAY = 10_000_000;

export const warmupCommands: CommandGroup = (program) => {
  const group = program
    .command('warmup')
    .description('show the warm-up step of each new source at each provider')
    .example('postrider warmup')
    .runs((ctx) => printPages(ctx, '/warmup', stateText));

  group
    .command('plan')
    .description('show the plan of a warm-up: messages per day, and how many must wait or use another source')
    .requiredOption('--per-day <number>', 'messages per day to the provider after the warm-up')
    .option('--start <date>', 'first day, YYYY-MM-DD (UTC); default today')
    .example('postrider warmup plan --per-day 20000')
    .runs((ctx, options: { perDay: string; start?: string }) => {
      const perDay = /^[0-9]{1,8}$/.test(options.perDay) ? Number(options.perDay) : 0;
      if (perDay < 1 || perDay > MAX_PER_DAY) {
        throw new UsageError(`--per-day is a whole number from 1 to ${MAX_PER_DAY}`);
      }
      const startAt = options.start === undefined ? Date.now() : Date.parse(`${options.start}T00:00:00Z`);
      if (Number.isNaN(startAt)) throw new UsageError('--start is a date such as 2026-12-01');
      const { days, stuck } = warmupPlan({ perDay, startAt });
      const rows = days.map(({ day, at, budget, sends, over }) => ({
        Day: day,
        Date: dayOf(at),
        Budget: budget,
        Sends: sends,
        Over: over,
      }));
      const text = [
        table([
          ['DAY', 'DATE', 'BUDGET', 'SENDS', 'WAITS OR GOES ELSEWHERE'],
          ...rows.map((row) => [
            String(row.Day),
            row.Date,
            row.Budget === null ? 'none' : String(row.Budget),
            String(row.Sends),
            String(row.Over),
          ]),
        ]),
        'A step up needs a day that used 60 % of its budget with less than 5 % deferred and no block; each provider counts for itself.',
        ...(stuck
          ? ['The last budget is not used to 60 %, so it stays where it is: your mail fits all the same.']
          : []),
      ].join('\n\n');
      ctx.print({ PerDay: perDay, Days: rows }, text);
    });
};

function stateText({ Items }: Page<Warmup>): string {
  return tableOf(
    ['SOURCE', 'PROVIDER', 'BUDGET', 'LAST 24 H', 'DEFERRED TODAY', 'BLOCKED TODAY', 'LAST MESSAGE'],
    Items.map((item) => [
      item.Source,
      item.Provider,
      item.Budget === null ? 'warm' : String(item.Budget),
      String(item.Used),
      String(item.DeferredToday),
      String(item.BlockedToday),
      item.LastUsedAt ?? 'never',
    ]),
    'No new source has sent to a provider with a warm-up yet. New are the sources with `newSince` in postrider.json: see docs/howto/warm-up.md.',
  );
}
