/**
 * `user …`: the people who sign in to the dashboard. A password is asked for, read, or generated and printed once.
 */
import type { Person } from '../client/api-types.ts';
import { MEMBER_PRESETS, ROLES } from '../model/person.ts';
import { type Api, everyItem } from './api-client.ts';
import { oneOf } from './arguments.ts';
import type { CommandContext, CommandGroup } from './command.ts';
import { confirm, YES } from './confirm.ts';
import { warnOfUnknownDomains } from './known-domain.ts';
import { printTable } from './lists.ts';
import { generatedPassword, readPassword } from './password.ts';
import { CommandError } from './terminal.ts';

interface AddOptions {
  role: string;
  domain?: string[];
  preset?: string;
  generate?: boolean;
  /** false = `--no-password`. */
  password: boolean;
}

const GENERATE = ['--generate', 'generate a password and print it once, instead of asking for it'] as const;

export const userCommands: CommandGroup = (program) => {
  const user = program.command('user').description('people who sign in to the dashboard');

  user
    .command('add <email>')
    .description('add a person; the password is asked for, or read from standard input')
    .option('--role <role>', `one of ${ROLES.join(', ')}`, oneOf(ROLES), 'operator')
    .option(
      '--domain <domain...>',
      'sender domains of a member or viewer; * = all domains, only for a viewer',
    )
    .option('--preset <preset>', `rights of a member: ${MEMBER_PRESETS.join(', ')}`, oneOf(MEMBER_PRESETS))
    .option(...GENERATE)
    .option('--no-password', 'the person signs in by the identity provider only (oidc-issuer)')
    .apart('--generate', '--no-password')
    .example(
      'postrider user add ada@example.com',
      'postrider user add ada@example.com --no-password',
      'postrider user add bob@example.com --role member --domain example.com --preset Full --generate',
    )
    .runs(async (ctx, email: string, options: AddOptions) => {
      const password = options.password ? await passwordFor(ctx, options.generate) : undefined;
      await ctx.withApi(async (api) => {
        const person = await api.call<Person>('POST', '/people', {
          Email: email,
          Password: password,
          Role: options.role,
          Domains: options.domain,
          Preset: options.preset,
        });
        ctx.terminal.stderr.write(`Added ${person.Email} as ${person.Role}.\n`);
        printPassword(ctx, person, options.generate === true && password !== undefined ? password : null);
        await warnOfUnknownDomains(
          ctx,
          api,
          person.Domains.filter((domain) => domain !== '*'),
        );
      });
    });

  user
    .command('list')
    .description('list all people')
    .example('postrider user list')
    .runs((ctx) =>
      printTable<Person>(
        ctx,
        '/people',
        ['ID', 'EMAIL', 'ROLE', 'DOMAINS', 'LAST SIGN-IN'],
        (item) => [
          item.PersonID,
          item.Email,
          item.Preset === null ? item.Role : `${item.Role} (${item.Preset})`,
          item.Domains.join(','),
          item.DisabledAt === null ? (item.LastSignInAt ?? 'never signed in') : 'disabled',
        ],
        'Nobody can sign in yet.',
      ),
    );

  user
    .command('passwd <email>')
    .description('set the password of a person; all sessions of the person end')
    .option(...GENERATE)
    .example('postrider user passwd ada@example.com --generate')
    .asks(async (ctx, api, email: string, options: { generate?: boolean }) => {
      const { PersonID } = await personOf(ctx, api, email);
      const password = await passwordFor(ctx, options.generate);
      const body = await api.call<Person>('PUT', `/people/${PersonID}/password`, {
        Password: password,
      });
      ctx.terminal.stderr.write(`The password of ${email} is set.\n`);
      printPassword(ctx, body, options.generate === true ? password : null);
    });

  user
    .command('totp-reset <email>')
    .description('remove the second factor of a person who lost it; all sessions of the person end')
    .option(...YES)
    .example('postrider user totp-reset ada@example.com')
    .asks(async (ctx, api, email: string, options: { yes?: boolean }) => {
      const { PersonID } = await personOf(ctx, api, email);
      await confirm(ctx.terminal, `Let ${email} sign in with the password alone`, options.yes);
      const body = await api.call('DELETE', `/people/${PersonID}/totp`);
      ctx.print(body, `${email} signs in with the password alone.`);
    });

  user
    .command('unlink <email>')
    .description(
      'unlink a person from an account of the identity provider; the next sign-in with the address links a new one',
    )
    .example('postrider user unlink ada@example.com')
    .asks(async (ctx, api, email: string) => {
      const { PersonID } = await personOf(ctx, api, email);
      const body = await api.call('DELETE', `/people/${PersonID}/identity`);
      ctx.print(body, `${email} is no account of the identity provider any more.`);
    });

  for (const [name, Disabled, done] of [
    ['disable', true, 'cannot sign in any more'],
    ['enable', false, 'can sign in again'],
  ] as const) {
    user
      .command(`${name} <email>`)
      .description(
        Disabled
          ? 'let a person no longer sign in; end the sessions, tokens, SMTP users and webhooks of the person'
          : 'let a disabled person sign in again',
      )
      .example(`postrider user ${name} bob@example.com`)
      .asks(async (ctx, api, email: string) => {
        const { PersonID } = await personOf(ctx, api, email);
        const body = await api.call('PATCH', `/people/${PersonID}`, { Disabled });
        ctx.print(body, `${email} ${done}.`);
      });
  }

  user
    .command('remove <email>')
    .description('remove a person, and end all sessions of the person')
    .option('--children', 'also remove the tokens, SMTP users and webhooks that the person created')
    .option(...YES)
    .example('postrider user remove bob@example.com --children')
    .asks(async (ctx, api, email: string, options: { children?: boolean; yes?: boolean }) => {
      const { PersonID } = await personOf(ctx, api, email);
      const what = options.children ? ` and everything that the person made` : '';
      await confirm(ctx.terminal, `Remove ${email}${what}`, options.yes);
      const body = await api.call('DELETE', `/people/${PersonID}${options.children ? '?Children=true' : ''}`);
      ctx.print(body, `Removed ${email}.`);
    });
};

async function personOf(ctx: CommandContext, api: Api, email: string): Promise<Person> {
  const people = await everyItem<Person>(api, '/people');
  const found = people.find(({ Email, PersonID }) => Email === email.toLowerCase() || PersonID === email);
  if (found !== undefined) return found;
  throw new CommandError(`there is no person "${email}"; see: ${ctx.command('user list')}`);
}

async function passwordFor(ctx: CommandContext, isGenerated: boolean | undefined): Promise<string> {
  return isGenerated === true ? generatedPassword() : readPassword(ctx.terminal);
}

/** A generated password is printed alone, so that scripts can capture it. */
function printPassword(ctx: CommandContext, person: Person, password: string | null): void {
  ctx.print(password === null ? person : { ...person, Password: password }, password ?? '');
}
