/** Schemas of the answers about tokens, SMTP credentials, and who the caller is. */
import { z } from 'zod';
import type {
  MeAnswer,
  NewSmtpCredentialAnswer,
  NewTokenAnswer,
  QuotaAnswer,
  RevokedTokenAnswer,
  RotatedTokenAnswer,
  SmtpCredentialAnswer,
  StorageAnswer,
  TokenAnswer,
} from '../answers/access.ts';
import type { Page } from '../answers/page.ts';
import { domainStatus } from './domains.ts';
import { exactly } from './exactly.ts';
import { count, pageOf, time } from './shared.ts';

const maker = z.string().nullable().describe('TokenID of the token that made it; null = none, or unknown');

export const tokenAnswer = exactly<TokenAnswer>()(
  z
    .object({
      TokenID: z.string(),
      Name: z.string(),
      Domains: z.array(z.string()).describe('["*"] = all'),
      Scopes: z.array(z.string()),
      Sandbox: z.boolean().describe('What it sends never leaves the machine'),
      IPAllowList: z.array(z.string()).describe('Empty = from anywhere'),
      RateLimit: z.number().nullable().describe('Sends per second; null = no limit of its own'),
      CreatedBy: maker,
      CreatedAt: time,
      ExpiresAt: time.nullable().describe('null = never'),
      LastUsedAt: time.nullable(),
      LastUsedIP: z.string().nullable(),
      RevokedAt: time.nullable(),
    })
    .meta({ id: 'Token' }),
);

export const tokenList = exactly<Page<TokenAnswer>>()(pageOf('TokenList', tokenAnswer));

const newToken = { TokenID: z.string(), Token: z.string().describe('The JWT; shown this once') };

export const newTokenAnswer = exactly<NewTokenAnswer>()(z.object(newToken).meta({ id: 'NewTokenAnswer' }));

export const rotatedTokenAnswer = exactly<RotatedTokenAnswer>()(
  z
    .object({ ...newToken, PreviousValidUntil: time.describe('The old token is good until then') })
    .meta({ id: 'RotatedTokenAnswer' }),
);

export const revokedTokenAnswer = exactly<RevokedTokenAnswer>()(
  z
    .object({ Tokens: count.optional(), Credentials: count.optional(), Webhooks: count.optional() })
    .meta({ id: 'RevokedTokenAnswer' }),
);

const credential = {
  CredentialID: z.string(),
  Username: z.string(),
  Name: z.string(),
  Domain: z.string(),
  Sandbox: z.boolean(),
  Notices: z.boolean().describe('Who sends with it is told of failures by mail'),
  IPAllowList: z.array(z.string()).describe('Empty = from anywhere'),
  RateLimit: z.number().nullable().describe('Sends per second; null = no limit of its own'),
  CreatedBy: maker,
  CreatedAt: time,
  ExpiresAt: time.nullable().describe('null = never'),
};

export const smtpCredentialList = exactly<Page<SmtpCredentialAnswer>>()(
  pageOf('SmtpCredentialList', z.object(credential).meta({ id: 'SmtpCredential' })),
);

export const newSmtpCredentialAnswer = exactly<NewSmtpCredentialAnswer>()(
  z
    .object({ ...credential, Password: z.string().describe('Shown this once') })
    .meta({ id: 'NewSmtpCredentialAnswer' }),
);

const quota = exactly<QuotaAnswer>()(
  z
    .object({
      Domain: z.string(),
      Period: z.enum(['minute', 'hour', 'day']),
      Limit: count.describe('Recipients'),
      Remaining: count,
      ResetAt: time,
    })
    .meta({ id: 'Quota' }),
);

const storage = exactly<StorageAnswer>()(
  z
    .object({ Domain: z.string(), Bytes: count, Limit: count.nullable().describe('null = none') })
    .meta({ id: 'Storage' }),
);

export const meAnswer = exactly<MeAnswer>()(
  z
    .object({
      TokenID: z.string(),
      Owner: z.string(),
      Domains: z.array(
        z.object({ Domain: z.string(), Status: z.enum([...domainStatus.options, 'Unknown']) }),
      ),
      AllDomains: z.boolean(),
      Scopes: z.array(z.string()),
      Sandbox: z.boolean(),
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
    .meta({ id: 'Me' }),
);
