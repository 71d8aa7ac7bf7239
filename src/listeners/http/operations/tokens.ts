/**
 * Tokens (api.md §7): mint, list, show, revoke, and GET /me. A token can give away only what it holds itself, and
 * sees only tokens whose domains are all its own. Who made a token is kept, and revoking one can take those along that were
 * made with it. The text of a token is in the answer that made it and nowhere else.
 */

import { z } from 'zod';
import type { Clock } from '../../../lib/clock.ts';
import { AppError } from '../../../lib/errors.ts';
import { isUuid } from '../../../lib/ids.ts';
import { toALabelDomain } from '../../../mail/address.ts';
import type { Domain } from '../../../model/domain.ts';
import type { Caller } from '../../../model/submission.ts';
import { PRESETS, SCOPES, type Scope, type Token } from '../../../model/token.ts';
import type { Access } from '../../../policy/access/access.ts';
import { type Grant, grantOf, type LimitWish, mayMint } from '../../../policy/access/may-mint.ts';
import type { SmtpCredentials } from '../../../policy/access/smtp-credentials.ts';
import type { DomainService } from '../../../policy/domains/domains.ts';
import type { Storage } from '../../../policy/limits/storage.ts';
import type { Store } from '../../../store/store.ts';
import type {
  MeAnswer,
  NewTokenAnswer,
  QuotaAnswer,
  RevokedTokenAnswer,
  RotatedTokenAnswer,
  StorageAnswer,
  TokenAnswer,
} from '../contract/answers/access.ts';
import type { Page } from '../contract/answers/page.ts';
import type { EmailLimits } from '../contract/email-limits.ts';
import {
  meAnswer,
  newTokenAnswer,
  revokedTokenAnswer,
  rotatedTokenAnswer,
  tokenAnswer,
  tokenList,
} from '../contract/schemas/access.ts';
import { PAGE } from '../contract/schemas/query.ts';
import { type CreateOnce, withEntry } from '../create-once.ts';
import { readJsonBody } from '../json-request.ts';
import { gather, looksOf } from '../looks.ts';
import {
  type ApiRoute,
  isoTime,
  isoTimeOrNull,
  json,
  pageLimit,
  queryCursor,
  queryFlag,
  refuse,
} from '../route.ts';
import { ownDomains } from '../tenancy.ts';

const DEFAULT_LIFETIME_MS = 365 * 86_400_000;
/** How long the old token of a rotation stays good where nothing is said. */
const DEFAULT_OVERLAP_SECONDS = 86_400;
const MAX_OVERLAP_SECONDS = 7 * 86_400;
const MAX_DOMAINS = 100;
/** Domains that GET /me names; a caller with more asks GET /domains. */
const MAX_SHOWN_DOMAINS = 100;
/** Tokens that one read looks at. */
const LOOK = 2_000;

const domainName = z
  .string()
  .max(255)
  .transform((text, context) => {
    const name = text === '*' ? text : toALabelDomain(text.trim());
    if (name === null) {
      context.addIssue({
        code: 'custom',
        message: 'is not a domain name',
        params: { problem: 'domain-invalid' },
      });
      return z.NEVER;
    }
    return name;
  });

const NEW_TOKEN = z.object({
  Name: z.string().trim().min(1).max(128),
  Domains: z.array(domainName).min(1).max(MAX_DOMAINS).optional(),
  Scopes: z.array(z.enum(SCOPES)).min(1).max(SCOPES.length).optional(),
  Preset: z.string().max(32).optional(),
  ExpiresIn: z.union([z.int().min(60).max(315_576_000), z.literal('never')]).optional(),
  Sandbox: z.boolean().optional(),
  IPAllowList: z.array(z.string().max(64)).max(100).optional(),
  RateLimit: z.number().positive().max(1_000_000).optional(),
});

const ROTATION = z.object({
  Overlap: z.int().min(0).max(MAX_OVERLAP_SECONDS).optional().describe('Seconds'),
});

export interface TokenRouteOptions {
  limits: EmailLimits;
  maxBodyBytes: number;
  streamsPerTenant: number;
}

/** The token routes and GET /me. */
export function tokenRoutes(
  deps: {
    store: Store;
    access: Access;
    smtpCredentials: Pick<SmtpCredentials, 'forget'>;
    domains: Pick<DomainService, 'quotaIn'>;
    storage?: Pick<Storage, 'use'>;
    clock: Clock;
    createOnce: CreateOnce;
  },
  options: TokenRouteOptions,
): readonly ApiRoute[] {
  const { store, access, smtpCredentials, domains, clock, createOnce } = deps;
  return [
    {
      method: 'GET',
      path: '/tokens',
      scope: 'tokens:read',
      limitedTokens: true,
      contract: {
        id: 'listTokens',
        summary: 'List tokens',
        description: 'Tokens without their text, newest first, a page',
        query: PAGE,
        answer: tokenList,
      },
      handle: async (request) => {
        const { caller, query } = request;
        const limit = pageLimit(query);
        const { rows, next } = await gather(
          looksOf(request),
          limit,
          queryCursor(query, isUuid),
          async (beforeId) => {
            const place = beforeId === undefined ? {} : { beforeId };
            const asked = { ...ownDomains(caller), ...place, limit: limit + 1, look: LOOK };
            const { tokens, nextId } = await store.listTokens(asked);
            return { rows: tokens.filter((token) => isOwn(caller, token)), next: nextId };
          },
          ({ id }) => id,
        );
        const answer: Page<TokenAnswer> = {
          Items: rows.map(toAnswer),
          HasMore: next !== null,
          NextCursor: next,
        };
        return json(answer);
      },
    },
    {
      method: 'POST',
      path: '/tokens',
      scope: 'tokens:write',
      limitedTokens: true,
      contract: {
        id: 'createToken',
        summary: 'Make a token',
        description:
          '`{Name, Domains?, Scopes or Preset, ExpiresIn?, Sandbox?, IPAllowList?, RateLimit?}`: 201 `{TokenID, Token}`, shown this once. Never more than the caller’s own scopes, domains and limits: what is left out of `IPAllowList`, `RateLimit` and `ExpiresIn` is as the caller’s own (and no longer than 365 days), and what it sends counts for the rates of all that made it',
        body: { schema: NEW_TOKEN, example: { Name: 'shop', Domains: ['example.com'], Preset: 'Send' } },
        status: 201,
        answer: newTokenAnswer,
        headers: { Location: 'Address of the token' },
        idempotent: true,
        errors: ['domain-invalid', 'from-domain-not-allowed'],
      },
      handle: (request) =>
        createOnce(request, 'POST /tokens', async (key) => {
          const body = readJsonBody(request, NEW_TOKEN);
          const wanted = {
            domains: [...new Set(body.Domains ?? request.caller.domains)],
            scopes: scopesOf(body.Scopes, body.Preset),
            sandbox: body.Sandbox ?? request.caller.sandbox,
          };
          const verdict = mayMint(request.caller, wanted);
          if (verdict.kind === 'refused') throw new AppError(verdict.problem);
          const { idempotency } = withEntry(key, (make) => (TokenID: string) => make(201, { TokenID }));
          const { expiresAt, ...grant } = granted(request.caller, {
            ipAllowList: body.IPAllowList,
            rateLimit: body.RateLimit,
            expiresAt: endOf(body.ExpiresIn),
          });
          const expiresInSeconds = expiresAt === null ? null : Math.floor((expiresAt - clock.now()) / 1000);
          const minted = await access.mint(
            { ...wanted, ...grant, name: body.Name, expiresInSeconds },
            idempotency,
          );
          const answer: NewTokenAnswer = { TokenID: minted.id, Token: minted.jwt };
          return json(answer, 201, { location: `/api/v1/tokens/${minted.id}` });
        }),
    },
    {
      method: 'GET',
      path: '/tokens/:id',
      scope: 'tokens:read',
      limitedTokens: true,
      contract: {
        id: 'getToken',
        summary: 'Show a token',
        description: 'One token without its text',
        answer: tokenAnswer,
      },
      handle: async ({ caller, params }) => json(toAnswer(await ownToken(caller, params.id))),
    },
    {
      method: 'DELETE',
      path: '/tokens/:id',
      scope: 'tokens:write',
      limitedTokens: true,
      contract: {
        id: 'revokeToken',
        summary: 'Revoke a token',
        description:
          'Revokes it: `{}`. Here at once. `Children=true`: also the tokens, SMTP credentials and webhooks that were made with it, and with those; then `{Tokens, Credentials, Webhooks}` says how many',
        query: { Children: z.boolean().optional().describe('Also what was made with it') },
        answer: revokedTokenAnswer,
      },
      handle: async ({ caller, params, query }) => {
        const token = await ownToken(caller, params.id);
        const children = queryFlag(query, 'Children') === true;
        const revoked = await access.revoke(token.id, children);
        if (!children) return json({});
        smtpCredentials.forget();
        const answer: RevokedTokenAnswer = {
          Tokens: revoked?.tokens ?? 0,
          Credentials: revoked?.credentials ?? 0,
          Webhooks: revoked?.webhooks ?? 0,
        };
        return json(answer);
      },
    },
    {
      method: 'POST',
      path: '/tokens/:id/rotate',
      scope: 'tokens:write',
      limitedTokens: true,
      contract: {
        id: 'rotateToken',
        summary: 'Replace a token',
        description:
          '`{Overlap?}` in seconds, 0 to 604 800 (86 400): a new token that may the same for as long, but not longer than the caller’s, 201 `{TokenID, Token, PreviousValidUntil}`. The old one ends after the overlap',
        body: { schema: ROTATION, example: { Overlap: 3600 }, mayBeEmpty: true },
        status: 201,
        answer: rotatedTokenAnswer,
        headers: { Location: 'Address of the new token' },
        idempotent: true,
        errors: ['from-domain-not-allowed'],
      },
      handle: async (request) => {
        const old = await ownToken(request.caller, request.params.id);
        return createOnce(request, `POST /tokens/${old.id}/rotate`, async (key) => {
          const body = readJsonBody(request, ROTATION, { mayBeEmpty: true });
          // The new text can do all that the old one could: only who could make such a token may have it.
          const verdict = mayMint(request.caller, old);
          if (verdict.kind === 'refused') throw new AppError(verdict.problem);
          const { ipAllowList, rateLimit } = old;
          granted(request.caller, { ipAllowList, rateLimit: rateLimit ?? Number.POSITIVE_INFINITY });
          const by = { tokenId: request.caller.tokenId, endsAt: request.caller.bounds?.expiresAt ?? null };
          const shown = (TokenID: string, until: number) => ({ TokenID, PreviousValidUntil: isoTime(until) });
          const { idempotency } = withEntry(
            key,
            (make) => (id: string, until: number) => make(201, shown(id, until)),
          );
          const rotated = await access.rotate(old, body.Overlap ?? DEFAULT_OVERLAP_SECONDS, by, idempotency);
          if (rotated === null) {
            throw new AppError('invalid-parameter', { message: 'The token has ended: make a new one' });
          }
          const answer: RotatedTokenAnswer = { ...shown(rotated.id, rotated.oldEndsAt), Token: rotated.jwt };
          return json(answer, 201, { location: `/api/v1/tokens/${rotated.id}` });
        });
      },
    },
    {
      method: 'GET',
      path: '/me',
      scope: null,
      limitedTokens: true,
      contract: {
        id: 'getMe',
        summary: 'Show what this token is',
        description:
          'What this token is: domains and their status, scopes, limits, what is left of the quotas of its domains (`Quotas`), and what they have on the disk (`Storage`: mail that waits, captured copies, contents that are kept)',
        answer: meAnswer,
      },
      handle: async ({ caller }) => {
        const all = caller.domains.includes('*');
        const part = all ? {} : { domains: caller.domains.slice(0, MAX_SHOWN_DOMAINS) };
        const rows = await store.listDomains({ ...part, limit: MAX_SHOWN_DOMAINS });
        const names = all ? rows.map((row) => row.name) : caller.domains;
        const status = new Map(rows.map((row) => [row.name, row.status]));
        const answer: MeAnswer = {
          TokenID: caller.tokenId,
          Owner: caller.owner,
          Domains: names.slice(0, MAX_SHOWN_DOMAINS).map((name) => ({
            Domain: name,
            Status: status.get(name) ?? 'Unknown',
          })),
          AllDomains: all,
          Scopes: [...caller.scopes],
          Sandbox: caller.sandbox,
          Quotas: await quotasOf(rows),
          Storage: await storageOf(names.slice(0, MAX_SHOWN_DOMAINS)),
          Limits: {
            RecipientsPerMessage: options.limits.maxRecipients,
            AttachmentsPerMessage: options.limits.maxAttachments,
            BodyBytes: options.maxBodyBytes,
            SendsPerSecond: caller.rateLimit,
            StreamsPerTenant: all ? null : options.streamsPerTenant,
          },
        };
        return json(answer);
      },
    },
  ];

  async function storageOf(names: readonly string[]): Promise<StorageAnswer[]> {
    const uses = (await deps.storage?.use(names)) ?? [];
    return uses.map(({ domain, bytes, limit }) => ({ Domain: domain, Bytes: bytes, Limit: limit }));
  }

  /** What is left of each window that is limited. */
  async function quotasOf(rows: readonly Domain[]): Promise<QuotaAnswer[]> {
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

  /** Throws AppError invalid-parameter. */
  function granted(caller: Caller, wish: LimitWish): Grant {
    const verdict = grantOf(caller, wish, { now: clock.now(), usualMs: DEFAULT_LIFETIME_MS });
    if (verdict.kind === 'refused') throw new AppError(verdict.problem);
    return verdict.grant;
  }

  function endOf(given: number | 'never' | undefined): number | null | undefined {
    if (given === undefined) return undefined;
    return given === 'never' ? null : clock.now() + given * 1000;
  }

  async function ownToken(caller: Caller, id: string | undefined): Promise<Token> {
    const token = id === undefined ? null : await store.getToken({ id });
    if (token === null || !isOwn(caller, token)) throw refuse('not-found');
    return token;
  }
}

function isOwn(caller: Caller, token: Token): boolean {
  return caller.domains.includes('*') || token.domains.every((domain) => caller.domains.includes(domain));
}

/** Throws AppError invalid-parameter for an unknown preset, or where both are given. */
function scopesOf(scopes: readonly Scope[] | undefined, preset: string | undefined): readonly Scope[] {
  if (scopes !== undefined && preset !== undefined) {
    throw new AppError('invalid-parameter', { field: '/Preset', message: 'Give Scopes or Preset, not both' });
  }
  if (scopes !== undefined) return [...new Set(scopes)];
  const word = (preset ?? 'Default').toLowerCase();
  for (const [name, list] of Object.entries(PRESETS)) if (name.toLowerCase() === word) return list;
  throw new AppError('invalid-parameter', {
    field: '/Preset',
    message: `Preset is one of ${Object.keys(PRESETS).join(', ')}`,
  });
}

function toAnswer(token: Token): TokenAnswer {
  return {
    TokenID: token.id,
    Name: token.name,
    Domains: token.domains,
    Scopes: token.scopes,
    Sandbox: token.sandbox,
    IPAllowList: token.ipAllowList,
    RateLimit: token.rateLimit,
    CreatedBy: token.createdBy,
    CreatedAt: isoTime(token.createdAt),
    ExpiresAt: isoTimeOrNull(token.expiresAt),
    LastUsedAt: isoTimeOrNull(token.lastUsedAt),
    LastUsedIP: token.lastUsedIp,
    RevokedAt: isoTimeOrNull(token.revokedAt),
  };
}
