/**
 * `causes` lists what failed or waits for the same reason; `causes resend` queues all of it again after the problem was
 * fixed.
 */
import type { Cause, ResendAnswer } from '../client/api-types.ts';
import type { Page } from '../client/many.ts';
import { portionsOf, queryOf, WAITING } from './api-client.ts';
import type { CommandContext, CommandGroup } from './command.ts';
import { printPages } from './lists.ts';
import { withProgress } from './progress.ts';
import { shortened, table, UsageError, withWhole } from './terminal.ts';

/** More are only in `--json`. */
const MAX_EXPLAINED = 10;

export const causeCommands: CommandGroup = (program) => {
  const group = program
    .command('causes')
    .description('list the causes of failures and delays: how many recipients, since when, what to do')
    .example('postrider causes')
    .runs((ctx) => {
      return printPages<Page<Cause>>(ctx, '/causes', (answer) => causesText(ctx, answer));
    });

  group
    .command('resend <id>')
    .description(
      'queue all recipients of one cause again, after you fixed it; suppressed recipients are left out',
    )
    .example('postrider causes resend 12')
    .runs(async (ctx, id: string) => {
      if (!/^[1-9][0-9]{0,14}$/.test(id)) {
        throw new UsageError(`an id is a number; see: ${ctx.command('causes')}`);
      }
      await ctx.withApi(async (api) => {
        const cause = await api.call<Cause>('GET', `/causes/${id}`);
        const portions = portionsOf((After) =>
          api.call<ResendAnswer>('POST', `/causes/${id}/resend${queryOf({ After })}`),
        );
        const sum = { Queued: 0, Opened: 0, LeftOut: { Suppressed: 0, ContentGone: 0, Moved: 0 } };
        await withProgress(ctx.terminal, 'queued again', async (progress) => {
          for await (const answer of portions) {
            sum.Queued += answer.Queued;
            sum.Opened += answer.Opened;
            sum.LeftOut.Suppressed += answer.LeftOut.Suppressed;
            sum.LeftOut.ContentGone += answer.LeftOut.ContentGone;
            sum.LeftOut.Moved += answer.LeftOut.Moved;
            const { Suppressed, ContentGone, Moved } = sum.LeftOut;
            progress(sum.Queued + Suppressed + ContentGone + Moved, cause.Waiting + cause.Failed);
          }
        });
        const { Suppressed, ContentGone, Moved } = sum.LeftOut;
        const opened = sum.Opened === 0 ? '' : ' Their paths were closed and are tried now.';
        ctx.print(
          sum,
          `${sum.Queued} queued again; left out: ${Suppressed} suppressed, ${ContentGone} without content, ${Moved} changed meanwhile.${opened}`,
        );
      }, WAITING);
    });
};

function causesText(ctx: CommandContext, { Items }: Page<Cause>): string {
  if (Items.length === 0) return 'Nothing failed or waits for a reason that several share.';
  const rows = Items.map((item) => [
    String(item.CauseID),
    item.Category,
    item.Site,
    item.SenderDomain ?? 'any',
    String(item.Waiting),
    String(item.WaitingBehind),
    String(item.Failed),
    item.FirstSeen,
    shortened(item.Reply, 60),
  ]);
  const worst = [...Items].sort((a, b) => countOf(b) - countOf(a));
  const explained = new Map(worst.map((item) => [item.Category, item.Explanation]));
  const words = [...explained].slice(0, MAX_EXPLAINED).map(([category, text]) => `${category}: ${text}`);
  return [
    withWhole(
      table([['ID', 'CATEGORY', 'SITE', 'FROM', 'WAITING', 'BEHIND', 'FAILED', 'SINCE', 'REPLY'], ...rows]),
      ctx.command('causes --json'),
    ),
    ...(Items.some(({ WaitingBehind }) => WaitingBehind > 0)
      ? ['BEHIND: recipients that have not met the cause, and wait until what it closed opens again.']
      : []),
    ctx.asTyped(words.join('\n')),
    `After you fixed a cause: ${ctx.command('causes resend ID')}`,
  ].join('\n\n');
}

function countOf({ Waiting, WaitingBehind, Failed }: Cause): number {
  return Waiting + WaitingBehind + Failed;
}
