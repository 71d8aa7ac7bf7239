/** GET /me: the token of the request, its rights, and what is left of the limits of its domains. */
import { z } from 'zod';
import type { Domain } from '../../../model/domain.ts';
import { hasScope } from '../../../policy/access/rights.ts';
import { type Answer, count, submissionPort, time } from '../answer-schemas.ts';
import type { ApiParts, HttpOptions } from '../deps.ts';
import { operation } from '../operation.ts';
import { DOMAIN } from '../query.ts';
import { type ApiRoute, isoTime } from '../route.ts';
import { domainStatus } from './domain-checks.ts';

const quota = z
  .object({
    Domain: z.string(),
    Period: z.enum(['minute', 'hour', 'day']),
    Limit: count.describe('Recipients'),
    Remaining: count,
    ResetAt: time,
  })
  .meta({ id: 'Quota' });

const storage = z
  .object({
    Domain: z.string(),
    Bytes: count,
    Limit: count.nullable().describe('null = none'),
    Recipients: count.describe('That wait or are being sent'),
    RecipientLimit: count.nullable().describe('null = none'),
  })
  .meta({ id: 'Storage' });

const meAnswer = z
  .object({
    TokenID: z.string(),
    Owner: z.string(),
    Domains: z.array(z.object({ Domain: z.string(), Status: z.enum([...domainStatus.options, 'Unknown']) })),
    AllDomains: z.boolean(),
    Scopes: z.array(z.string()),
    Operations: z
      .array(z.string())
      .describe(
        '`operationId` of those that it may call without their scope: the dashboard of a development server',
      ),
    Sandbox: z.boolean(),
    Mode: z.enum(['dev', 'serve']).describe('How this server was started'),
    AnyDomain: z
      .boolean()
      .describe(
        'true: mail from any domain is accepted, also if the domain was not added, as on a development server that captures all mail',
      ),
    Command: z
      .string()
      .nullable()
      .describe(
        'How a command of this server begins at a terminal, in the folder where it was started, e.g. `./bin/postrider`; null except for administrators',
      ),
    DataFolder: z.string().nullable().describe('Of this server; null except for administrators'),
    Submission: z
      .array(submissionPort)
      .describe('Where programs submit mail by SMTP, encrypted ports first; empty = nowhere'),
    Limits: z.object({
      RecipientsPerMessage: count,
      AttachmentsPerMessage: count,
      BodyBytes: count,
      SendsPerSecond: z.number().nullable(),
      StreamsPerTenant: count
        .nullable()
        .describe('Of one kind, open at once; null = no limit but that of all'),
    }),
    Storage: z
      .array(storage)
      .describe(
        'What its domains have on the disk: mail that waits, captured copies, contents that are kept',
      ),
    Quotas: z.array(quota).describe('Of the domains that have one'),
  })
  .meta({ id: 'Me' });

/** Domains that GET /me names; a caller with more asks GET /domains. */
const MAX_SHOWN_DOMAINS = 100;

export function meOperation(deps: ApiParts, options: HttpOptions): ApiRoute {
  const { store, domains, clock } = deps;
  return operation('GET /me', {
    id: 'getMe',
    scope: null,
    summary: 'Show what this token is',
    description:
      'What this token may do: domains and their status, scopes, limits, where mail is submitted by SMTP (`Submission`), what is left of the quotas of its domains (`Quotas`), and their disk usage (`Storage`: waiting mail, captured copies, stored contents). At most 100 domains; `Domain`: only this one',
    query: DOMAIN,
    answer: meAnswer,
    errors: ['not-found'],
    handle: async ({ caller, visible }) => {
      const all = caller.domains.includes('*');
      const own = visible.domains?.slice(0, MAX_SHOWN_DOMAINS);
      const part = own === undefined ? {} : { domains: own };
      const rows = await store.listDomains({ ...part, limit: MAX_SHOWN_DOMAINS });
      const names = own ?? rows.map((row) => row.name);
      const mayKnowServer = hasScope(caller, 'admin') || caller.operations?.has('getConfig') === true;
      const status = new Map(rows.map((row) => [row.name, row.status]));
      return {
        TokenID: caller.tokenId,
        Owner: caller.owner,
        Domains: names.map((name) => ({
          Domain: name,
          Status: status.get(name) ?? ('Unknown' as const),
        })),
        AllDomains: all,
        Scopes: [...caller.scopes],
        Operations: [...(caller.operations ?? [])],
        Sandbox: caller.sandbox,
        Mode: options.mode,
        AnyDomain: options.anyDomain,
        Command: mayKnowServer ? options.command : null,
        DataFolder: mayKnowServer ? options.dataFolder : null,
        Submission: [...deps.submission()],
        Quotas: await quotasOf(rows),
        Storage: await storageOf(names),
        Limits: {
          RecipientsPerMessage: options.email.maxRecipients,
          AttachmentsPerMessage: options.email.maxAttachments,
          BodyBytes: options.maxBodyBytes,
          SendsPerSecond: caller.rateLimit,
          StreamsPerTenant: all ? null : options.streamsPerTenant,
        },
      };
    },
  });

  async function storageOf(names: readonly string[]): Promise<Answer<typeof storage>[]> {
    const uses = (await deps.storage?.use(names)) ?? [];
    return uses.map((use) => ({
      Domain: use.domain,
      Bytes: use.bytes,
      Limit: use.limit,
      Recipients: use.recipients,
      RecipientLimit: use.recipientLimit,
    }));
  }

  /** What is left of each window that is limited. */
  async function quotasOf(rows: readonly Domain[]): Promise<Answer<typeof quota>[]> {
    const limited = rows.flatMap((row) => {
      const limits = domains.quotaIn(row);
      return limits === null ? [] : [{ name: row.name, limits }];
    });
    if (limited.length === 0) return [];
    const uses = await store.quotaUses({ domains: limited.map(({ name }) => name), now: clock.now() });
    return limited.flatMap(({ name, limits }, i) =>
      (uses[i] ?? []).flatMap(({ period, used, resetAt }) => {
        const limit = limits[period];
        if (limit === null) return [];
        const Remaining = Math.max(0, limit - used);
        return [{ Domain: name, Period: period, Limit: limit, Remaining, ResetAt: isoTime(resetAt) }];
      }),
    );
  }
}
