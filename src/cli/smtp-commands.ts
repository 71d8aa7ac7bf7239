/** `smtp …`: user names and passwords for SMTP submission. `create` prints the password once. */
import type { NewSmtpCredentialAnswer, SmtpCredential } from '../client/api-types.ts';
import { everyItem } from './api-client.ts';
import type { CommandGroup } from './command.ts';
import { warnOfUnknownDomains } from './known-domain.ts';
import { printMade } from './lists.ts';
import { table } from './terminal.ts';
import { narrowedBy } from './token-commands.ts';

export const smtpCommands: CommandGroup = (program) => {
  const smtp = program.command('smtp').description('user names and passwords for SMTP submission');

  smtp
    .command('create')
    .description('create a user name and a password, and print them once')
    .requiredOption('--domain <domain>', 'sender domain that they may use')
    .option('--name <name>', 'a name for lists')
    .option('--sandbox', 'capture all mail that is sent with it')
    .option('--no-notices', 'send no delivery reports to the sender')
    .example('postrider smtp create --domain example.com')
    .makes(
      async (ctx, api, options: { domain: string; name?: string; sandbox?: boolean; notices: boolean }) => {
        const made = await api.call<NewSmtpCredentialAnswer>('POST', '/smtp-credentials', {
          Domain: options.domain,
          Name: options.name,
          Sandbox: options.sandbox,
          Notices: options.notices,
        });
        ctx.terminal.stderr.write(`For ${made.Domain}; the password is not shown again.\n`);
        ctx.print(
          made,
          table([
            ['Username', made.Username],
            ['Password', made.Password],
          ]),
        );
        await warnOfUnknownDomains(ctx, api, [options.domain]);
      },
    );

  smtp
    .command('list')
    .description('list all user names, without their passwords')
    .example('postrider smtp list')
    .runs((ctx) =>
      printMade<SmtpCredential>(
        ctx,
        '/smtp-credentials',
        ['ID', 'USERNAME', 'DOMAIN', 'NAME', 'LIMITS', 'CREATED', 'EXPIRES', 'MADE BY'],
        (item, madeBy) => [
          item.CredentialID,
          item.Username,
          item.Domain,
          item.Name,
          narrowedBy(item).join(', ') || '-',
          item.CreatedAt,
          item.ExpiresAt ?? 'never expires',
          madeBy,
        ],
        'No SMTP users yet.',
      ),
    );

  smtp
    .command('remove <username>')
    .description(
      'remove a user name, given by name or id; logins with it are refused within 5 seconds on every node',
    )
    .example('postrider smtp remove smtp-d21dacdceb5c')
    .asks(async (ctx, api, name: string) => {
      const known = await everyItem<SmtpCredential>(api, '/smtp-credentials');
      const id = known.find(({ Username }) => Username === name)?.CredentialID ?? name;
      await api.call('DELETE', `/smtp-credentials/${encodeURIComponent(id)}`);
      ctx.print({ Removed: id }, `Removed ${name}.`);
    });
};
