/** `webhook …`: webhooks of a domain. */
import type {
  NewWebhookAnswer,
  ReplayAnswer,
  WebhookCall,
  WebhookCallDetail,
  WebhookDetail,
  WebhookSecretAnswer,
  WebhookTest,
} from '../client/api-types.ts';
import type { Page } from '../client/many.ts';
import { WEBHOOK_TOKENS } from '../model/event.ts';
import { redirectAdvice } from '../model/webhook.ts';
import { EXISTING, pagesOf, portionsOf } from './api-client.ts';
import { backFromNow, each, instantField, numberFrom } from './arguments.ts';
import type { CommandContext, CommandGroup } from './command.ts';
import { warnOfUnknownDomains } from './known-domain.ts';
import { withProgress } from './progress.ts';
import { counted, shortened, tableOf, UsageError, withWhole } from './terminal.ts';

export const webhookCommands: CommandGroup = (program) => {
  const webhook = program.command('webhook').description('callback addresses for events');

  webhook
    .command('create <url>')
    .description('add a webhook and print its secret once')
    .requiredOption('--domain <domain>', 'sender domain whose events are reported')
    .option(
      '--event <event>',
      'delivery, bounce, complaint, open, click, unsubscribe, … or all; may be repeated (default all)',
      each(WEBHOOK_TOKENS),
    )
    .example(
      'postrider webhook create --domain example.com --event bounce --event complaint https://example.com/hook',
    )
    .makes(async (ctx, api, url: string, options: { domain: string; event?: string[] }) => {
      const made = await api.call<NewWebhookAnswer>('POST', '/webhooks', {
        WebhookURL: url,
        Events: options.event ?? ['all'],
        Domain: options.domain,
      });
      ctx.print(
        made,
        `Webhook ${made.NewWebhookID}\nSecret  ${made.Secret}\n(the secret is not shown again)`,
      );
      await warnOfUnknownDomains(ctx, api, [options.domain]);
    });

  webhook
    .command('list')
    .description('list all webhooks and the last answer of each')
    .example('postrider webhook list')
    .asks(async (ctx, api) => {
      const items: WebhookDetail[] = [];
      const pages = pagesOf<{ Webhooks: WebhookDetail[]; NextCursor: string | null }>(
        api,
        '/webhooks?Details=true',
      );
      for await (const { Webhooks } of pages) items.push(...Webhooks);
      const rows = items.map((item) => [
        String(item.WebhookID),
        item.Event,
        item.Status,
        String(item.Pending),
        item.LastResponseTryCounter === 0
          ? 'never called'
          : `${shortened(answerOf(item.LastError, item.LastResponseCode, item.LastResponseBody), 60)} (try ${item.LastResponseTryCounter})`,
        item.WebhookURL,
      ]);
      const head = ['ID', 'EVENT', 'STATUS', 'WAITING', 'LAST', 'URL'];
      const text = tableOf(head, rows, 'No webhooks yet.');
      ctx.print(items, withWhole(text, ctx.command('webhook calls ID')));
    });

  for (const [verb, status, description] of [
    ['enable', 'Enabled', 'enable a webhook, or go on with one that fails: its waiting calls are made now'],
    ['disable', 'Disabled', 'disable a webhook; no calls are queued until it is enabled'],
  ] as const) {
    webhook
      .command(`${verb} <id>`)
      .description(description)
      .example(`postrider webhook ${verb} 1`)
      .asks(async (ctx, api, id: string) => {
        const body = await api.call<WebhookDetail>('PATCH', `/webhooks/${webhookId(ctx, id)}`, {
          Status: status,
        });
        const { Pending } = body;
        const [one, more] =
          status === 'Enabled' ? ['call is made now', 'calls are made now'] : ['call waits', 'calls wait'];
        const wait = Pending === 0 ? '' : ` ${counted(Pending, one, more)}.`;
        ctx.print(body, `Webhook ${id} is ${status.toLowerCase()}.${wait}`);
      });
  }

  webhook
    .command('rotate-secret <id>')
    .description('create a new secret and print it once; calls are signed with both for 24 hours')
    .example('postrider webhook rotate-secret 1')
    .asks(async (ctx, api, id: string) => {
      const made = await api.call<WebhookSecretAnswer>('POST', `/webhooks/${webhookId(ctx, id)}/secret`);
      ctx.print(
        made,
        `Secret  ${made.Secret}\n(it is not shown again; calls are also signed with the old one until ${made.PreviousValidUntil})`,
      );
    });

  webhook
    .command('remove <id>')
    .description('remove a webhook')
    .example('postrider webhook remove 1')
    .asks(async (ctx, api, id: string) => {
      await api.call('DELETE', `/webhooks/${webhookId(ctx, id)}`);
      ctx.print({ Removed: Number(id) }, `Removed webhook ${id}.`);
    });

  webhook
    .command('test <id>')
    .description('send a signed sample call now and show the answer')
    .example('postrider webhook test 1')
    .asks(async (ctx, api, id: string) => {
      const result = await api.call<WebhookTest>('POST', `/webhooks/${webhookId(ctx, id)}/test`, {});
      const text =
        result.StatusCode === 0
          ? `No answer: ${result.Error}`
          : `${result.StatusCode} in ${result.LatencyMs} ms${redirectAdvice(result.StatusCode)}\n${result.Body}`;
      ctx.print(result, text.trimEnd());
      if (!isSuccess(result.StatusCode)) ctx.fail();
    });

  webhook
    .command('calls <id>')
    .description('list the calls of a webhook, newest first, with their numbers for replay --delivery')
    .option('--limit <n>', 'maximum number of entries, up to 100', numberFrom(1, 100), 25)
    .option('--delivery <number>', 'one call with its request')
    .apart('--delivery', '--limit')
    .example('postrider webhook calls 1', 'postrider webhook calls 1 --delivery 4711')
    .asks(async (ctx, api, id: string, options: { limit: number; delivery?: string }) => {
      if (options.delivery !== undefined) {
        const one = `/webhooks/${webhookId(ctx, id)}/deliveries/${callNumber(options.delivery)}`;
        const found = await api.call<WebhookCallDetail>('GET', one);
        ctx.print(found, callText(found));
        return;
      }
      const path = `/webhooks/${webhookId(ctx, id)}/deliveries?Limit=${options.limit}`;
      const { Items } = await api.call<Page<WebhookCall>>('GET', path);
      const rows = Items.map((item) => [
        String(item.DeliveryID),
        item.Event,
        item.Status,
        String(item.Tries),
        item.UpdatedAt,
        item.NextTryAt ?? '',
        item.Tries === 0 ? '' : shortened(answerOf(item.Error, item.ResponseCode, item.ResponseBody), 80),
      ]);
      const head = ['DELIVERY', 'EVENT', 'STATUS', 'TRIES', 'CHANGED', 'NEXT TRY', 'ANSWER'];
      const text = tableOf(head, rows, 'No calls yet.');
      ctx.print(Items, withWhole(text, ctx.command(`webhook calls ${id} --delivery NUMBER`)));
    });

  webhook
    .command('replay <id>')
    .description('repeat calls of a webhook: failed ones, those since a time, or single ones')
    .option(
      '--since <time>',
      'events from this time on: an ISO time, or a duration such as 2h for two hours ago',
    )
    .option('--until <time>', 'events up to this time, in the same form (default now)')
    .option('--only-failed', 'only events whose call failed')
    .option('--delivery <number...>', 'single calls, with the numbers from `webhook calls`')
    .apart('--delivery', '--since', '--until', '--only-failed')
    .example(
      'postrider webhook replay 1 --only-failed',
      'postrider webhook replay 1 --delivery 4711',
      'postrider webhook replay 1 --since 2h --only-failed',
    )
    .runs(async (ctx, id: string, options: ReplayOptions) => {
      const wanted = replayRequest(options);
      await ctx.withApi(async (api) => {
        const path = `/webhooks/${webhookId(ctx, id)}/replay`;
        // One range for all requests: events that happen meanwhile are called anyway.
        const range = 'DeliveryIDs' in wanted ? wanted : { Until: new Date().toISOString(), ...wanted };
        const portions = portionsOf((After) => api.call<ReplayAnswer>('POST', path, { ...range, After }));
        let Queued = 0;
        await withProgress(ctx.terminal, 'calls queued', async (progress) => {
          for await (const portion of portions) {
            Queued += portion.Queued;
            progress(Queued, null);
          }
        });
        const rest =
          Queued > 0
            ? ''
            : ` The calls and their numbers: ${ctx.command(`webhook calls ${id}`)}\nCalls that wait for their next try are made now by: ${ctx.command(`webhook enable ${id}`)}`;
        ctx.print({ Queued }, `${counted(Queued, 'call')} queued.${rest}`);
      }, EXISTING);
    });
};

interface ReplayOptions {
  since?: string;
  until?: string;
  onlyFailed?: boolean;
  delivery?: string[];
}

function replayRequest({ since, until, onlyFailed, delivery }: ReplayOptions): Record<string, unknown> {
  if (delivery !== undefined) {
    return { DeliveryIDs: delivery.map(callNumber) };
  }
  if (since === undefined && onlyFailed !== true) {
    throw new UsageError('say which calls: --only-failed, --since TIME or --delivery NUMBER');
  }
  const [from, to] = [backFromNow('--since', since), backFromNow('--until', until)];
  return {
    Since: from && instantField(from),
    Until: to && instantField(to),
    OnlyFailed: onlyFailed === true,
  };
}

function callNumber(text: string): number {
  if (!/^[1-9]\d{0,14}$/.test(text)) throw new UsageError(`"${text}" is not the number of a call`);
  return Number(text);
}

const isSuccess = (code: number) => code >= 200 && code < 300;

/** Of a failure also what the receiver said, in one line: the ends of lines were made printable before. */
function answerOf(error: string, code: number, body: string): string {
  if (error !== '' || isSuccess(code)) return error || String(code);
  return `${code} ${body.replace(/[\s·]+/g, ' ')}`.trim();
}

function callText(call: WebhookCallDetail): string {
  const { Event, Status, Tries, ResponseCode, ResponseBody, Error: error, NextTryAt, Request } = call;
  const headers = Object.entries(Request.Headers).map(([name, value]) => `${name}: ${value}`);
  const answer = Tries === 0 ? 'no try yet' : error || `${ResponseCode}${redirectAdvice(ResponseCode)}`;
  const next = NextTryAt === null ? '' : `, next try: ${NextTryAt}`;
  const lines = [
    `${Event}: ${Status}, tries: ${Tries}, last answer: ${answer}${next}`,
    `POST ${Request.URL}`,
  ];
  const body = ResponseBody === '' ? [] : ['', 'The answer began with:', ResponseBody.trimEnd()];
  return [...lines, ...headers, '', Request.Body, ...body].join('\n');
}

function webhookId(ctx: CommandContext, text: string): string {
  if (!/^\d{1,15}$/.test(text))
    throw new UsageError(`"${text}" is not a webhook id; see: ${ctx.command('webhook list')}`);
  return text;
}
