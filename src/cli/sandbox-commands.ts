/** `sandbox …`: inboxes of captured mail, waiting for mail, releasing it, and simulated failures. */

import type { CaptureDetail, CaptureSummary, Inbox, Released, SandboxRule } from '../client/api-types.ts';
import type { Page } from '../client/many.ts';
import { EXISTING, firstPage, queryOf } from './api-client.ts';
import { numberFrom } from './arguments.ts';
import type { CommandGroup, ContextCommand } from './command.ts';
import { printTable } from './lists.ts';
import { CommandError, tableOf, UsageError } from './terminal.ts';

type Options = Record<string, string | undefined>;
type Filters = Partial<Record<'inbox' | 'to' | 'from' | 'subject' | 'text' | 'tag', string>>;
type ListOptions = Filters & { unseen?: true; limit: number };
interface Switches {
  code?: true;
  link?: true;
  timeout: string;
}

const EXAMPLE_ID = '019ab0c1-7d3e-7000-8000-000000000000';

export const sandboxCommands: CommandGroup = (program) => {
  const sandbox = program
    .command('sandbox')
    .description('captured mail: list it, wait for it, send it, simulate results');
  const path = (id: string) => `/sandbox/messages/${encodeURIComponent(id)}`;

  sandbox
    .command('inboxes')
    .description('list inboxes that contain captured mail')
    .example('postrider sandbox inboxes')
    .runs((ctx) =>
      printTable<Inbox>(
        ctx,
        '/sandbox/inboxes',
        ['INBOX', 'DOMAIN', 'MAILS', 'LATEST', 'SUBJECT'],
        (item) => [
          item.Inbox === '' ? '(none)' : item.Inbox,
          item.Domain,
          String(item.Count),
          item.LatestAt,
          item.LatestSubject,
        ],
        'Nothing captured.',
      ),
    );

  withFilters(sandbox.command('list').description('list captured mail, newest first'))
    .option('--unseen', 'only mail that nobody has marked as seen')
    .option('--limit <n>', 'maximum number of entries, up to 100', numberFrom(1, 100), 25)
    .example('postrider sandbox list --inbox run-17')
    .asks(async (ctx, api, { unseen, limit, ...filters }: ListOptions) => {
      const query = { ...filtersOf(filters), Seen: unseen && 'false' };
      const { Items } = await firstPage<Page<CaptureSummary>>(api, '/sandbox/messages', query, limit);
      const rows = Items.map((item) => [item.ID, item.CapturedAt, item.Inbox, item.EnvelopeTo, item.Subject]);
      const head = ['ID', 'CAPTURED', 'INBOX', 'TO', 'SUBJECT'];
      ctx.print(Items, tableOf(head, rows, 'Nothing captured.'));
    });

  sandbox
    .command('show <id>')
    .description('show a captured mail: content, attachments, links and codes')
    .example(`postrider sandbox show ${EXAMPLE_ID}`)
    .asks(async (ctx, api, id: string) => {
      const body = await api.call<CaptureDetail>('GET', path(id));
      ctx.print(body, detailText(body));
    });

  withFilters(
    sandbox
      .command('wait')
      .description('wait for a mail that matches and show it; mail that is already there counts'),
  )
    .option('--timeout <seconds>', '0 to 60', '30')
    .option('--code', 'print only the most likely code in the mail')
    .option('--link', 'print only the most likely link in the mail')
    .apart('--code', '--link')
    .example('postrider sandbox wait --inbox run-17 --subject Sign --code --timeout 0')
    .runs(async (ctx, { code, link, timeout, ...filters }: Filters & Switches) => {
      const query = queryOf({ ...filtersOf(filters), Timeout: timeout });
      await ctx.withApi(async (api) => {
        const mail = await api.call<CaptureDetail>('GET', `/sandbox/wait${query}`);
        if (!code && !link) {
          ctx.print(mail, detailText(mail));
          return;
        }
        const [best] = code ? mail.Codes : mail.Links;
        if (best === undefined) {
          throw new CommandError(`there is no ${code ? 'code' : 'link'} in the mail ${mail.ID}`);
        }
        ctx.print(mail, best);
      }, EXISTING);
    });

  sandbox
    .command('clear')
    .description('empty one inbox, or with --all all inboxes')
    .option('--inbox <name>', 'only this inbox')
    .option('--all', 'every inbox')
    .apart('--all', '--inbox')
    .example('postrider sandbox clear --inbox run-17')
    .runs(async (ctx, options: { inbox?: string; all?: boolean }) => {
      if (options.inbox === undefined && options.all !== true)
        throw new UsageError('name --inbox, or say --all');
      await ctx.withApi(async (api) => {
        const query = queryOf({ Inbox: options.inbox });
        const body = await api.call<{ Deleted: number }>('DELETE', `/sandbox/messages${query}`);
        ctx.print(body, `Removed ${body.Deleted}.`);
      }, EXISTING);
    });

  sandbox
    .command('release <id>')
    .description('send a captured mail, as a new message')
    .option('--to <address>', 'send it to this address instead of its recipient')
    .example(`postrider sandbox release ${EXAMPLE_ID} --to me@example.net`)
    .asks(async (ctx, api, id: string, options: { to?: string }) => {
      const body = await api.call<Released>('POST', `${path(id)}/release`, { To: options.to });
      ctx.print(body, body.MessageID);
    });

  const rules = sandbox.command('rules').description('results that the sandbox simulates for matching mail');

  rules
    .command('list')
    .description('list sandbox rules, oldest first')
    .example('postrider sandbox rules list')
    .runs((ctx) =>
      printTable<SandboxRule>(
        ctx,
        '/sandbox/rules',
        ['ID', 'DOMAIN', 'FOR', 'RESULT', 'USED', 'UNTIL'],
        (item) => [
          item.RuleID,
          item.Domain,
          conditionsOf(item),
          item.Result,
          `${item.Uses}${item.Times === null ? '' : `/${item.Times}`}`,
          item.ExpiresAt,
        ],
        'No rules.',
      ),
    );

  rules
    .command('add <result>')
    .description(
      'simulate Deliver, Bounce, SoftBounce, Defer, Fail, Complain, Open or Click for matching mail',
    )
    .option('--domain <domain>', 'sender domain, if the token has several')
    .option('--inbox <name>', 'mail for this inbox')
    .option('--recipient <pattern>', 'an address, or * and its end, e.g. *@example.org')
    .option('--subject <text>', 'subject contains this text')
    .option('--tag <tag>', 'with this tag')
    .option('--code <n>', 'SMTP reply code')
    .option('--enhanced <x.y.z>', 'enhanced status code')
    .option('--text <text>', 'text of the reply')
    .option('--defers <n>', 'for Defer: how often it is deferred before it is delivered')
    .option('--delay <ms>', 'milliseconds before the first attempt')
    .option('--probability <p>', 'probability for a matching recipient, above 0, up to 1')
    .option('--times <n>', 'number of recipients it applies to')
    .option('--expires-in <seconds>', 'seconds until it ends')
    .example("postrider sandbox rules add Defer --domain example.com --recipient '*@slow.example' --defers 2")
    .makes(async (ctx, api, result: string, options: Options) => {
      const body = await api.call<SandboxRule>('POST', '/sandbox/rules', ruleOf(result, options));
      ctx.print(body, body.RuleID);
    });

  rules
    .command('clear')
    .description('remove all sandbox rules, or those of one inbox')
    .option('--inbox <name>', 'only those of this inbox')
    .example('postrider sandbox rules clear --inbox run-17')
    .asks(async (ctx, api, { inbox }: { inbox?: string }) => {
      const query = queryOf({ Inbox: inbox });
      const body = await api.call<{ Deleted: number }>('DELETE', `/sandbox/rules${query}`);
      ctx.print(body, `Ended ${body.Deleted}.`);
    });
};

/** The filters that both reading commands have. */
function withFilters(command: ContextCommand): ContextCommand {
  return command
    .option('--inbox <name>', 'in this inbox')
    .option('--to <address>', 'to this address')
    .option('--from <address>', 'from this address')
    .option('--subject <text>', 'subject contains this text')
    .option('--text <text>', 'subject or content contains this text')
    .option('--tag <tag>', 'with this tag');
}

function filtersOf({ inbox, to, from, subject, text, tag }: Filters): Options {
  return { Inbox: inbox, To: to, From: from, Subject: subject, Text: text, Tag: tag };
}

/** The body of a request. */
function ruleOf(Result: string, options: Options): object {
  const number = (flag: string): number | undefined => {
    const value = options[flag];
    if (value !== undefined && !Number.isFinite(Number(value)))
      throw new UsageError(`${flag}: "${value}" is not a number`);
    return value === undefined ? undefined : Number(value);
  };
  return {
    Result,
    Domain: options.domain,
    Inbox: options.inbox,
    Recipient: options.recipient,
    Subject: options.subject,
    Tag: options.tag,
    Enhanced: options.enhanced,
    Text: options.text,
    Code: number('code'),
    Defers: number('defers'),
    DelayMs: number('delay'),
    Probability: number('probability'),
    Times: number('times'),
    ExpiresIn: number('expiresIn'),
  };
}

function detailText(mail: CaptureDetail): string {
  const lines: [string, string][] = [
    ['ID', mail.ID],
    ['Message', mail.MessageID],
    ['Inbox', mail.Inbox],
    ['Captured', mail.CapturedAt],
    ['From', mail.From.Email],
    ['To', mail.EnvelopeTo],
    ['Subject', mail.Subject],
    ...mail.Attachments.map((file, i): [string, string] => [
      `File ${i}`,
      `${file.Filename} (${file.Type}, ${file.Size} octets)`,
    ]),
    ...mail.Links.map((link): [string, string] => ['Link', link]),
    ...mail.Codes.map((code): [string, string] => ['Code', code]),
    ...(mail.ReleasedAs === null
      ? []
      : [['Released', `${mail.ReleasedAt} as ${mail.ReleasedAs}`] as [string, string]]),
  ];
  const head = lines.map(([name, value]) => `${`${name}:`.padEnd(10)} ${value}`).join('\n');
  const text = mail.PlainContent === '' ? mail.HTMLContent : mail.PlainContent;
  return `${head}\n\n${mail.ParseError ?? text}`;
}

/** Every condition of a rule, all of which must hold. */
function conditionsOf({ Recipient, Inbox, Subject, Tag }: SandboxRule): string {
  const named = Object.entries({ inbox: Inbox, subject: Subject, tag: Tag });
  const conditions = named.flatMap(([name, value]) => (value === null ? [] : [`${name} ${value}`]));
  if (Recipient !== null) conditions.unshift(Recipient);
  return conditions.join(', ') || '(all)';
}
