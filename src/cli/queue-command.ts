/** `queue`: what waits, by site and age, and why. */
import type { Queue, QueueAnswer } from '../client/api-types.ts';
import { queryOf, WAITING } from './api-client.ts';
import type { CommandGroup } from './command.ts';
import { SAME_WITH_JSON, table, withWhole } from './terminal.ts';
import { addTrafficCommands } from './traffic-commands.ts';
import { waitText } from './wait-text.ts';

const HEAD = [
  ...['SITE', 'FROM', 'LANE', 'ROUTE', 'WAITING', '<1m', '<10m', '<1h', '<1d', 'OLDER', 'NEXT TRY', 'WHY'],
];
const MAX_REASONS = 2;

export const queueCommand: CommandGroup = (program) => {
  const queue = program.command('queue');
  queue
    .description('show what waits, by site and age, and why')
    .option('--domain <domain>', 'only this sender domain')
    .example('postrider queue')
    .asks(async (ctx, api, { domain }: { domain?: string }) => {
      const answer = await api.call<QueueAnswer>('GET', `/queue${queryOf({ Domain: domain })}`);
      ctx.print(answer, ctx.asTyped(withWhole(queueText(answer), SAME_WITH_JSON)));
    }, WAITING);
  addTrafficCommands(queue);
};

/** What waits, as a table; printable. */
export function queueText(answer: QueueAnswer): string {
  const blocks: string[] = [];
  if (answer.Waiting !== null) {
    blocks.push(
      `${answer.Waiting} waiting, ${answer.Sending ?? 0} being sent, ${answer.PendingCalls ?? 0} webhook calls to make.`,
    );
  }
  if (answer.Queues.length === 0) blocks.push('Nothing waits.');
  else blocks.push(table([HEAD, ...answer.Queues.map(row)]));
  if (answer.More) blocks.push('More sites wait; these are the earliest due.');
  return blocks.join('\n\n');
}

function row(item: Queue): string[] {
  const { Ages } = item;
  const given = item.Reasons.filter(({ Reason }) => Reason !== '');
  const reasons = given
    .slice(0, MAX_REASONS)
    .map(({ Reason, Count, Reply }) => `${waitText(Reason, Reply)} (${Count})`);
  if (given.length > MAX_REASONS) reasons.push(`${given.length - MAX_REASONS} more …`);
  return [
    item.Site,
    item.SenderDomain,
    item.Priority,
    [item.Route, ...item.Tags.map((tag) => `#${tag}`)].join(' '),
    `${item.Waiting}${item.Complete ? '' : '+'}`,
    ...[Ages.Under1m, Ages.Under10m, Ages.Under1h, Ages.Under1d, Ages.Older].map(String),
    item.NextDueAt ?? '',
    reasons.join(', '),
  ];
}
