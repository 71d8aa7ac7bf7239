/** `messages`, `message`, `cancel`, `retry`, `send`: sent messages, their results, and sending one by hand. */

import { basename } from 'node:path';
import type {
  CancelAnswer,
  MessageSummary,
  MessageWithContents,
  RetryAnswer,
  Suppression,
  TimelineEntry,
} from '../client/api-types.ts';
import type { Page } from '../client/many.ts';
import { systemClock } from '../lib/clock.ts';
import { LANES } from '../model/message.ts';
import { STATUS_WORDS, wordsText } from '../model/status.ts';
import { REMOVABLE_IF } from '../model/suppression.ts';
import { everyItem, firstPage, queryOf, WAITING } from './api-client.ts';
import { backFromNow, each, instantField, numberFrom, oneOf } from './arguments.ts';
import { quoted } from './called-as.ts';
import type { CommandGroup } from './command.ts';
import { readBytes, readObject, readText } from './files.ts';
import { messageText } from './message-text.ts';
import { counted, printable, printableLines, tableOf, UsageError } from './terminal.ts';

type MessageFilters = {
  [name in 'status' | 'to' | 'recipientDomain' | 'from' | 'subject' | 'tag']?: string;
} & { metadata?: string[]; since?: string; until?: string; limit: number };

export const messageCommands: CommandGroup = (program) => {
  program
    .command('messages')
    .description('list messages, newest first')
    .option(
      '--status <status>',
      `status of the message or of one of its recipients (of --to or --recipient-domain): ${STATUS_WORDS.join(', ')}`,
      oneOf(STATUS_WORDS),
    )
    .option('--to <address>', 'with this recipient')
    .option('--recipient-domain <domain>', 'with a recipient of this domain')
    .option('--from <address>', 'with this sender')
    .option('--subject <text>', 'subject contains this text')
    .option('--tag <tag>', 'with this tag')
    .option('--metadata <key=value...>', 'with all of this metadata')
    .option(
      '--since <time>',
      'accepted from this time on: an ISO time, or a duration such as 2h for two hours ago',
    )
    .option('--until <time>', 'accepted before this time, in the same form')
    .option('--limit <n>', 'maximum number of entries, up to 100', numberFrom(1, 100), 25)
    .example('postrider messages --since 2h --to you@example.net --status Failed')
    .runs(async (ctx, { metadata, since, until, limit, ...options }: MessageFilters) => {
      const query = {
        Since: backFromNow('--since', since),
        Until: backFromNow('--until', until),
        ...Object.fromEntries(pairs(metadata).map(([key, value]) => [`Metadata.${key}`, value])),
        Status: options.status,
        To: options.to,
        RecipientDomain: options.recipientDomain,
        From: options.from,
        Subject: options.subject,
        Tag: options.tag,
      };
      await ctx.withApi(async (api) => {
        const { Items } = await firstPage<Page<MessageSummary>>(api, '/email', query, limit);
        const rows = Items.map((item) => [
          item.MessageID,
          item.CreatedAt,
          wordsText(item.RecipientStatuses),
          item.To.map((to) => to.Email).join(', '),
          item.Subject,
        ]);
        const head = ['ID', 'ACCEPTED', 'STATUS', 'TO', 'SUBJECT'];
        const isAboutSomebody = options.to !== undefined || options.from !== undefined;
        const none = isAboutSomebody
          ? `No messages. Mail that was not accepted is listed by: ${ctx.command('refusals')}`
          : 'No messages.';
        // A request whose recipients are all on the list is refused, so no message tells of it.
        const listed =
          options.to === undefined
            ? []
            : (await api.call<Page<Suppression>>('GET', `/suppressions${queryOf({ Email: options.to })}`))
                .Items;
        const remarks = listed.map((one) => {
          const remove = ctx.command(
            `suppress remove ${quoted(one.Email)} --domain ${one.Domain} --reason ${one.Reason}`,
          );
          return `${suppressionLine(one)}. ${REMOVABLE_IF[one.Reason]}: ${remove}`;
        });
        ctx.print(Items, [tableOf(head, rows, none), ...remarks].join('\n\n'));
      }, WAITING);
    });

  program
    .command('message <id>')
    .description('show a message: recipients, timeline and SMTP conversation')
    .option('--raw', 'print the composed message instead')
    .option('--to <address>', 'with --raw: the copy of this recipient, with its personal links')
    .example('postrider message 019ab0c1-7d3e-7000-8000-000000000000')
    .runs(async (ctx, id: string, options: { raw?: boolean; to?: string }) => {
      if (options.to !== undefined && !options.raw) throw new UsageError('--to goes with --raw');
      await ctx.withApi(async (api) => {
        const path = `/email/${encodeURIComponent(id)}`;
        if (options.raw) {
          const { stdout } = ctx.terminal;
          const raw = await api.bytes(`${path}/raw${queryOf({ Recipient: options.to })}`);
          stdout.write(stdout.isTTY === true ? printableLines(Buffer.from(raw).toString()) : raw);
          return;
        }
        const message = await api.call<MessageWithContents>('GET', path);
        const events = await everyItem<TimelineEntry>(api, `${path}/events`);
        ctx.print(
          { ...message, Events: events },
          ctx.asTyped(messageText(ctx.terminal.stdout, message, events, systemClock.now())),
        );
      }, WAITING);
    });

  program
    .command('cancel <id>')
    .description('cancel a message for the recipients that still wait')
    .example('postrider cancel 019ab0c1-7d3e-7000-8000-000000000000')
    .asks(async (ctx, api, id: string) => {
      const body = await api.call<CancelAnswer>('POST', `/email/${encodeURIComponent(id)}/cancel`);
      const { Canceled, TooLate } = body;
      const late = TooLate === 0 ? '' : `; ${TooLate} could no longer be stopped`;
      ctx.print(body, `${counted(Canceled, 'recipient')} canceled${late}.`);
    });

  program
    .command('retry <id>')
    .description('retry the failed, bounced and deferred recipients of a message now')
    .example('postrider retry 019ab0c1-7d3e-7000-8000-000000000000')
    .asks(async (ctx, api, id: string) => {
      const body = await api.call<RetryAnswer>('POST', `/email/${encodeURIComponent(id)}/retry`);
      const { Queued, Opened, Closed } = body;
      const opened = Opened === 0 ? '' : '\nIts path was closed and is tried now.';
      const closed = Closed.map((path) => `\nIt waits for its path: ${path.Reason}`).join('');
      ctx.print(body, `${counted(Queued, 'recipient')} queued again.${opened}${closed}`);
    }, WAITING);

  program
    .command('send')
    .description('send a message through the API')
    .requiredOption('--from <address>', 'sender')
    .requiredOption('--to <address...>', 'recipients')
    .option('--cc <address...>', 'copies')
    .option('--bcc <address...>', 'hidden copies')
    .option('--reply-to <address...>', 'addresses for replies')
    .option('--header <line>', "a custom header, 'Name: value'; may be repeated", each())
    .option('--idempotency-key <key>', 'a request with the same key within 24 hours sends nothing again')
    .option('--subject <text>', 'subject line; replaces that of the template')
    .option('--html <file>', 'HTML body; - reads standard input')
    .option('--text <file>', 'text body; - reads standard input')
    .option('--template <id>', 'id or name of a stored template')
    .option('--variables <file>', 'JSON object with the variables of the template; - reads standard input')
    .option('--strict', 'refuse the message if a variable of the template is missing')
    .option('--attach <file...>', 'files to attach')
    .option('--priority <lane>', 'critical, normal or bulk', oneOf(LANES))
    .option('--send-at <time>', 'when to send it: ISO 8601 with an offset, or Unix seconds')
    .option('--expires-at <time>', 'when to give up, in the same form')
    .option('--tag <tag...>', 'labels, for searching and statistics')
    .option('--metadata <key=value...>', 'metadata for events and webhooks')
    .example(
      "echo '<p>Hi</p>' | postrider send --from a@example.com --to b@example.net --subject Hi --html -",
    )
    .runs(async (ctx, options: SendOptions) => {
      const request = await emailRequest(options);
      await ctx.withApi(async (api) => {
        const key = options.idempotencyKey;
        const headers = key === undefined ? {} : { 'idempotency-key': key };
        const body = await api.call<{ MessageID: string }>('POST', '/email', request, headers);
        ctx.print(body, body.MessageID);
      }, WAITING);
    });
};

/** What the suppression list of a sender domain says of an address. */
function suppressionLine({ Email, Domain, Reason, CreatedAt, Note, Reply }: Suppression): string {
  const why = Note === '' ? Reply : Note;
  const since = `${Reason} since ${CreatedAt.slice(0, 10)}${why === '' ? '' : `: ${why}`}`;
  return printable(`${Email} is on the suppression list of ${Domain} (${since})`);
}

interface SendOptions {
  from: string;
  to: string[];
  cc?: string[];
  bcc?: string[];
  replyTo?: string[];
  header?: string[];
  idempotencyKey?: string;
  subject?: string;
  template?: string;
  variables?: string;
  strict?: boolean;
  html?: string;
  text?: string;
  attach?: string[];
  priority?: string;
  sendAt?: string;
  expiresAt?: string;
  tag?: string[];
  metadata?: string[];
}

async function emailRequest(options: SendOptions): Promise<object> {
  const fromTemplate = options.template !== undefined;
  if (!fromTemplate && options.html === undefined && options.text === undefined) {
    throw new UsageError('give a body: --html FILE, --text FILE (- reads standard input) or --template ID');
  }
  if (!fromTemplate && options.subject === undefined) throw new UsageError('give a subject: --subject TEXT');
  if (!fromTemplate && (options.variables !== undefined || options.strict === true)) {
    throw new UsageError('--variables and --strict need --template ID');
  }
  if ([options.html, options.text, options.variables].filter((file) => file === '-').length > 1) {
    throw new UsageError('standard input can be read once: give - to one option only');
  }
  const html = await readText(options.html);
  const text = await readText(options.text);
  const variables = await readObject(options.variables);
  const attachments = await Promise.all(
    (options.attach ?? []).map(async (file) => ({
      Filename: basename(file),
      Content: (await readBytes(file)).toString('base64'),
      Disposition: 'attachment',
    })),
  );
  return {
    From: mailbox(options.from),
    To: options.to.map(mailbox),
    CC: options.cc?.map(mailbox),
    BCC: options.bcc?.map(mailbox),
    ReplyTo: options.replyTo?.map(mailbox),
    Headers: options.header && headersOf(options.header),
    Subject: options.subject,
    ...(fromTemplate
      ? { TemplateID: options.template }
      : { ContentType: html === undefined ? 'Text' : 'HTML' }),
    Variables: variables,
    StrictVariables: options.strict,
    HTMLContent: html,
    PlainContent: text,
    ...(attachments.length === 0 ? {} : { Attachments: attachments }),
    Priority: options.priority,
    SendAt: options.sendAt && instantField(options.sendAt),
    ExpiresAt: options.expiresAt && instantField(options.expiresAt),
    Tags: options.tag,
    Metadata: options.metadata && Object.fromEntries(pairs(options.metadata)),
  };
}

/** `Ada <ada@example.net>` or the address alone. */
function mailbox(text: string): { email: string; name?: string } {
  const at = text.endsWith('>') ? text.lastIndexOf('<') : -1;
  if (at < 0) return { email: text };
  const name = text.slice(0, at).trim();
  return { email: text.slice(at + 1, -1), ...(name === '' ? {} : { name }) };
}

function headersOf(lines: readonly string[]): Record<string, string> {
  const named = lines.map((line): [string, string] => {
    const at = line.indexOf(':');
    if (at < 1) throw new UsageError(`--header takes 'Name: value', not "${line}"`);
    return [line.slice(0, at).trim(), line.slice(at + 1).trim()];
  });
  const names = named.map(([name]) => name.toLowerCase());
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice !== undefined) throw new UsageError(`--header: ${twice} is given more than once`);
  return Object.fromEntries(named);
}

function pairs(given: readonly string[] = []): [string, string][] {
  return given.map((text) => {
    const at = text.indexOf('=');
    if (at < 1) throw new UsageError(`--metadata takes key=value, not "${text}"`);
    return [text.slice(0, at), text.slice(at + 1)];
  });
}
