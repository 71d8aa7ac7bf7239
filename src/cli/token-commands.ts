/** `token …`: API tokens. `create` prints the JWT alone on standard output, so that it can be captured. */

import type {
  Me,
  NewTokenAnswer,
  RevokedTokenAnswer,
  RotatedTokenAnswer,
  Token,
} from '../client/api-types.ts';
import { perPeriod } from '../model/quota.ts';
import { LIFETIME_SECONDS, OVERLAP_SECONDS, PRESETS, SCOPES } from '../model/token.ts';
import type { Api } from './api-client.ts';
import { numberFrom, oneOf, someOf } from './arguments.ts';
import type { CommandGroup } from './command.ts';
import { warnOfUnknownDomains } from './known-domain.ts';
import { printMade } from './lists.ts';
import { table, UsageError } from './terminal.ts';

interface CreateOptions {
  domain?: string[];
  preset?: string;
  scope?: string[];
  expiresIn?: string;
  sandbox?: boolean;
  rateLimit?: number;
  name?: string;
  allowIp?: string[];
}

export const tokenCommands: CommandGroup = (program) => {
  const token = program.command('token').description('API tokens');

  token
    .command('create')
    .description('create a token and print it once')
    .option('--domain <domain...>', 'sender domains that the token may use')
    .option(
      '--preset <preset>',
      `one of ${Object.keys(PRESETS).join(', ')} (default Default)`,
      oneOf(Object.keys(PRESETS)),
    )
    .option('--scope <scope...>', 'single scopes instead of a preset, e.g. email:send', someOf(SCOPES))
    .option('--expires-in <duration>', 'seconds, a duration such as 90d, or never (default 365d)')
    .option('--sandbox', 'capture all mail that is sent with it')
    .option('--rate-limit <n>', 'sends per second', numberFrom(0.000001, 1_000_000, { fraction: true }))
    .option('--allow-ip <cidr...>', 'accept it only from these IP addresses')
    .option('--name <name>', 'a name for lists')
    .apart('--preset', '--scope')
    .example('TOKEN=$(postrider token create --domain example.com --preset Send)')
    .runs(async (ctx, options: CreateOptions) => {
      const preset = options.preset ?? (options.scope === undefined ? 'Default' : undefined);
      const domains = options.domain ?? (preset === 'Admin' ? ['*'] : undefined);
      if (domains === undefined) throw new UsageError('--domain is required, e.g. --domain example.com');
      await ctx.withApi(async (api) => {
        const made = await api.call<NewTokenAnswer>('POST', '/tokens', {
          Name: options.name ?? `cli: ${domains.join(', ')}`.slice(0, 100),
          Domains: domains,
          Preset: preset,
          Scopes: options.scope,
          ExpiresIn: options.expiresIn === undefined ? undefined : expiry(options.expiresIn),
          Sandbox: options.sandbox,
          RateLimit: options.rateLimit,
          IPAllowList: options.allowIp,
        });
        ctx.terminal.stderr.write(
          `Token ${made.TokenID} for ${domains.join(', ')}, ${await validity(api, made)}; it is not shown again.\n`,
        );
        ctx.print(made, made.Token);
        await warnOfUnknownDomains(ctx, api, domains);
      });
    });

  token
    .command('list')
    .description('list all tokens, without their text')
    .example('postrider token list')
    .runs((ctx) =>
      printMade<Token>(
        ctx,
        '/tokens',
        ['ID', 'NAME', 'DOMAINS', 'RIGHTS', 'EXPIRES', 'LAST USED', 'MADE BY'],
        (item, madeBy) => [
          item.TokenID,
          item.Name === '' ? '-' : item.Name,
          item.Domains.join(','),
          rightsOf(item),
          item.RevokedAt !== null ? 'revoked' : (item.ExpiresAt ?? 'never expires'),
          item.LastUsedAt ?? 'never used',
          madeBy,
        ],
        'No tokens yet.',
      ),
    );

  token
    .command('limits')
    .description('show the limits of the token in use, and the quota and disk usage of each domain')
    .example('postrider token limits')
    .asks(async (ctx, api) => {
      const me = await api.call<Me>('GET', '/me');
      ctx.print(me, limitsText(me));
    });

  token
    .command('rotate <id>')
    .description('create a new token in place of one, print it once, and let the old one expire')
    .option('--overlap <duration>', 'how long the old one stays valid: 0 to 7d (default 1d)')
    .example('TOKEN=$(postrider token rotate 019ab0c1-7d3e-7000-8000-000000000000)')
    .asks(async (ctx, api, id: string, options: { overlap?: string }) => {
      const made = await api.call<RotatedTokenAnswer>('POST', `/tokens/${encodeURIComponent(id)}/rotate`, {
        Overlap:
          options.overlap === undefined ? undefined : seconds('--overlap', options.overlap, OVERLAP_SECONDS),
      });
      ctx.terminal.stderr.write(
        `Token ${made.TokenID}, ${await validity(api, made)}; it is not shown again. ${id} is valid until ${made.PreviousValidUntil}.\n`,
      );
      ctx.print(made, made.Token);
    });

  token
    .command('revoke <id>')
    .description('revoke a token; requests with it are refused within 5 seconds on every node')
    .option(
      '--children',
      'also revoke the tokens, SMTP users and webhooks that were created with it or its descendants',
    )
    .example('postrider token revoke 019ab0c1-7d3e-7000-8000-000000000000 --children')
    .asks(async (ctx, api, id: string, options: { children?: boolean }) => {
      const query = options.children ? '?Children=true' : '';
      const body = await api.call<RevokedTokenAnswer>('DELETE', `/tokens/${encodeURIComponent(id)}${query}`);
      const { Tokens, Credentials, Webhooks } = body;
      const children =
        options.children === true
          ? ` and what was made with it: ${Tokens ?? 0} tokens, ${Credentials ?? 0} SMTP users, ${Webhooks ?? 0} webhooks`
          : '';
      ctx.print({ Revoked: id, ...body }, `Revoked ${id}${children}.`);
    });
};

/** By the name of the preset where it has just its scopes, and what narrows them. */
function rightsOf(token: Token): string {
  const given = new Set<string>(token.Scopes);
  const preset = Object.entries(PRESETS).find(
    ([, scopes]) => scopes.length === given.size && scopes.every((scope) => given.has(scope)),
  );
  return [preset?.[0] ?? token.Scopes.join(' '), ...narrowedBy(token)].join(', ');
}

/** What a token or an SMTP user is narrowed to. */
export function narrowedBy(of: Pick<Token, 'Sandbox' | 'RateLimit' | 'IPAllowList'>): string[] {
  return [
    ...(of.Sandbox ? ['sandbox'] : []),
    ...(of.RateLimit === null ? [] : [`${of.RateLimit}/s`]),
    ...(of.IPAllowList.length === 0 ? [] : [`from ${of.IPAllowList.join(' ')}`]),
  ];
}

function limitsText({ Limits, Storage, Quotas }: Me): string {
  const limit = (value: number | null) => (value === null ? 'no limit' : String(value));
  const own = table([
    ['Sends a second', limit(Limits.SendsPerSecond)],
    ['Streams of one kind', limit(Limits.StreamsPerTenant)],
    ['Recipients of a message', String(Limits.RecipientsPerMessage)],
    ['Bytes of a request', String(Limits.BodyBytes)],
  ]);
  const rows = Storage.map(({ Domain, Bytes, Limit }) => {
    const left = Quotas.filter((quota) => quota.Domain === Domain).map(
      (quota) => `${quota.Remaining} of ${quota.Limit} ${perPeriod(quota.Period)}`,
    );
    return [Domain, String(Bytes), limit(Limit), left.join(', ') || 'no limit'];
  });
  return `${own}\n\n${table([['DOMAIN', 'BYTES STORED', 'OF', 'RECIPIENTS LEFT'], ...rows])}`;
}

const UNIT_SECONDS: Readonly<Record<string, number>> = {
  s: 1,
  m: 60,
  min: 60,
  h: 3600,
  d: 86_400,
  y: 31_536_000,
};

/** `never`, plain seconds, or a number with s, m, h, d or y. */
function expiry(text: string): number | 'never' {
  return text === 'never' ? 'never' : seconds('--expires-in', text, LIFETIME_SECONDS);
}

/** Plain seconds, or a number with s, m, h, d or y. */
function seconds(flag: string, text: string, { min, max }: { min: number; max: number }): number {
  const match = /^(\d{1,10})(s|m|min|h|d|y)?$/.exec(text);
  const value = match === null ? Number.NaN : Number(match[1]) * (UNIT_SECONDS[match[2] ?? 's'] ?? 1);
  if (value >= min && value <= max) return value;
  const most = Math.floor(max / 86_400);
  throw new UsageError(
    `${flag} "${text}": use a duration such as ${Math.min(90, most)}d, or seconds; from ${min} seconds to ${most} days`,
  );
}

/** A token that ends without a word surprises its application a year later. */
export async function validity(
  api: Pick<Api, 'call'>,
  { TokenID }: Pick<NewTokenAnswer, 'TokenID'>,
): Promise<string> {
  const { ExpiresAt } = await api.call<Token>('GET', `/tokens/${TokenID}`);
  return ExpiresAt === null ? 'valid until it is revoked' : `valid until ${ExpiresAt.slice(0, 10)}`;
}
