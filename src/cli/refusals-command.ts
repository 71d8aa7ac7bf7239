/** `refusals`: what the server refused lately, and why. */

import type { Refusal } from '../client/api-types.ts';
import type { Page } from '../client/many.ts';
import { queryOf } from './api-client.ts';
import type { CommandGroup } from './command.ts';
import { printPages } from './lists.ts';
import { SAME_WITH_JSON, shortened, tableOf, withWhole } from './terminal.ts';

export const refusalsCommand: CommandGroup = (program) => {
  program
    .command('refusals')
    .description('list requests and SMTP mail that the running server refused: caller, address, reason')
    .option('--domain <domain>', 'only refusals of tokens for this domain')
    .example('postrider refusals')
    .runs((ctx, { domain }: { domain?: string }) =>
      printPages<Page<Refusal>>(ctx, `/refusals${queryOf({ Domain: domain })}`, (page) =>
        withWhole(refusalsText(page), SAME_WITH_JSON),
      ),
    );
};

function refusalsText({ Items }: Page<Refusal>): string {
  return tableOf(
    ['TIME', 'TIMES', 'BY', 'WHAT', 'STATUS', 'CODE', 'FROM', 'PEER', 'WHY'],
    Items.map((item) => [
      item.Time,
      String(item.Times),
      shortened(item.TokenName ?? item.TokenID ?? '-', 40),
      `${item.Via} ${item.Action}`,
      String(item.Status),
      item.Code === null ? '-' : String(item.Code),
      item.Domain ?? '-',
      item.Peer,
      item.Message,
    ]),
    'Nothing was refused since the server started.',
  );
}
