/** `audit`: who changed what, through the API, the dashboard or a command. */
import type { AuditEntry } from '../client/api-types.ts';
import type { Page } from '../client/many.ts';
import { firstPage } from './api-client.ts';
import { numberFrom } from './arguments.ts';
import type { CommandGroup } from './command.ts';
import { SAME_WITH_JSON, shortened, tableOf, withWhole } from './terminal.ts';

interface AuditOptions {
  who?: string;
  operation?: string;
  since?: string;
  until?: string;
  limit: number;
}

export const auditCommand: CommandGroup = (program) => {
  program
    .command('audit')
    .description('list who changed what: tokens, people, domains, suppressions, holds and the like')
    .option('--who <who>', 'only changes by this person (email address or id) or token (name or id)')
    .option('--operation <operation>', 'only this operation of the API, e.g. createToken')
    .option('--since <time>', 'changes from this time on, ISO 8601')
    .option('--until <time>', 'changes before this time, ISO 8601')
    .option('--limit <n>', 'how many to show', numberFrom(1, 100), 25)
    .example('postrider audit --who ada@example.com')
    .asks(async (ctx, api, { who, operation, since, until, limit }: AuditOptions) => {
      const query = { Who: who, Operation: operation, Since: since, Until: until };
      const page = await firstPage<Page<AuditEntry>>(api, '/audit', query, limit);
      ctx.print(page, withWhole(auditText(page), SAME_WITH_JSON));
    });
};

function auditText({ Items }: Page<AuditEntry>): string {
  return tableOf(
    ['TIME', 'WHO', 'OPERATION', 'RESOURCE', 'CHANGED', 'FROM'],
    Items.map((item) => [
      item.Time,
      shortened(item.WhoName === '' ? item.WhoID : item.WhoName, 40),
      item.Operation,
      item.Resource,
      shortened(item.Changed.join(' '), 80),
      item.IP,
    ]),
    'No change is recorded.',
  );
}
