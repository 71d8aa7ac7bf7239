/**
 * Tokens: create, list, show, revoke, and GET /me. A token can grant only what it has itself, and sees only tokens
 * whose domains are all its own. The creator of a token is stored, and revoking one can also revoke what was created
 * with it. The text of a token is only in the answer that created it.
 */

import { z } from 'zod';
import { AppError } from '../../../lib/errors.ts';
import { toALabelDomain } from '../../../mail/address.ts';
import type { Caller } from '../../../model/submission.ts';
import {
  LIFETIME_SECONDS,
  OVERLAP_SECONDS,
  PRESETS,
  SCOPES,
  type Scope,
  type Token,
} from '../../../model/token.ts';
import { type Grant, grantOf, type LimitWish, makerOf, mayMint } from '../../../policy/access/may-mint.ts';
import { type Answer, count, pageOf, time } from '../answer-schemas.ts';
import { lineOfName } from '../body/text-rules.ts';
import type { ApiParts } from '../deps.ts';
import { operation, withHeaders, withoutUndefined } from '../operation.ts';
import { paging } from '../paging.ts';
import { flag } from '../query.ts';
import { type ApiRoute, BASE, existing, invalidParameter, isoTime, isoTimeOrNull, refuse } from '../route.ts';
import { ownDomains } from '../tenancy.ts';

export const maker = z
  .string()
  .nullable()
  .describe('TokenID of the token, or PersonID of the person, that made it; null = none, or unknown');

const tokenAnswer = z
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
    ReplacedBy: z.string().nullable().describe('Id of the token that replaced it'),
  })
  .meta({ id: 'Token' });

const newToken = { TokenID: z.string(), Token: z.string().describe('The JWT; shown this once') };

const newTokenAnswer = z.object(newToken).meta({ id: 'NewTokenAnswer' });

const rotatedTokenAnswer = z
  .object({ ...newToken, PreviousValidUntil: time.describe('The old token is good until then') })
  .meta({ id: 'RotatedTokenAnswer' });

export const revokedTokenAnswer = z
  .object({ Tokens: count.optional(), Credentials: count.optional(), Webhooks: count.optional() })
  .meta({ id: 'RevokedTokenAnswer' });

const DEFAULT_LIFETIME_MS = 365 * 86_400_000;
/** How long the old token of a rotation stays valid by default. */
const DEFAULT_OVERLAP_SECONDS = 86_400;
const MAX_DOMAINS = 100;
/** Tokens that one read looks at. */
const LOOK = 2_000;
const PAGES = paging('tokens', z.uuid(), ({ id }: { id: string }) => id);

/** A sender domain as a lower-case A-label, or "*". */
export const domainName = z
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
  Name: lineOfName(128),
  Domains: z.array(domainName).min(1).max(MAX_DOMAINS).optional(),
  Scopes: z.array(z.enum(SCOPES)).min(1).max(SCOPES.length).optional(),
  Preset: z.string().max(32).optional(),
  ExpiresIn: z
    .union(
      [z.int().min(LIFETIME_SECONDS.min).max(LIFETIME_SECONDS.max), z.literal('never')],
      'must be a number of seconds, or "never"',
    )
    .optional(),
  Sandbox: z.boolean().optional(),
  IPAllowList: z.array(z.string().max(64)).max(100).optional(),
  RateLimit: z.number().positive().max(1_000_000).optional(),
});

const ROTATION = z.object({
  Overlap: z.int().min(OVERLAP_SECONDS.min).max(OVERLAP_SECONDS.max).optional().describe('Seconds'),
});

export function tokenOperations({
  store,
  access,
  smtpCredentials,
  clock,
  createOnce,
}: ApiParts): readonly ApiRoute[] {
  return [
    operation('GET /tokens', {
      id: 'listTokens',
      scope: 'tokens:read',
      summary: 'List tokens',
      description: 'Tokens without their text, newest first, a page',
      query: PAGES.query,
      answer: pageOf('TokenList', tokenAnswer),
      handle: ({ caller, query, request }) =>
        PAGES.search(request, query, toAnswer, async (beforeId, limit) => {
          const asked = { ...ownDomains(caller), ...withoutUndefined({ beforeId }), limit };
          const { tokens, nextId } = await store.listTokens({ ...asked, look: LOOK });
          return { rows: tokens.filter((token) => isOwn(caller, token)), next: nextId };
        }),
    }),
    operation('POST /tokens', {
      id: 'createToken',
      scope: 'tokens:write',
      proven: true,
      summary: 'Make a token',
      description:
        '`{Name, Domains?, Scopes or Preset, ExpiresIn?, Sandbox?, IPAllowList?, RateLimit?}`: 201 `{TokenID, Token}`, shown only here. It never has more scopes and domains or wider limits than the caller. If `IPAllowList`, `RateLimit` or `ExpiresIn` is left out, the caller’s value is used (at most 365 days). At most 1000 with the same first domain; those that have ended are removed for new ones. Its mail also counts towards the rates of the tokens that it was created with',
      body: { schema: NEW_TOKEN, example: { Name: 'shop', Domains: ['example.com'], Preset: 'Send' } },
      status: 201,
      answer: newTokenAnswer,
      headers: { Location: 'Address of the token' },
      once: createOnce,
      errors: ['domain-invalid', 'from-domain-not-allowed', 'token-limit'],
      handle: async ({ caller, body, key }) => {
        const wanted = {
          domains: [...new Set(body.Domains ?? caller.domains)],
          scopes: scopesOf(body.Scopes, body.Preset),
          sandbox: body.Sandbox ?? caller.sandbox,
        };
        const verdict = mayMint(caller, wanted);
        if (verdict.kind === 'refused') throw new AppError(verdict.problem);
        // The clock is read once: a millisecond later, 60 seconds would be 59, or the token would outlive its creator.
        const now = clock.now();
        const wish = {
          ipAllowList: body.IPAllowList,
          rateLimit: body.RateLimit,
          expiresAt: endOf(body.ExpiresIn, now),
        };
        const { expiresAt, ...grant } = granted(caller, wish, now);
        const expiresInSeconds = expiresAt === null ? null : Math.floor((expiresAt - now) / 1000);
        const minted = await access.mint(
          { ...wanted, ...grant, name: body.Name, expiresInSeconds, askedAt: now },
          key && ((TokenID) => key({ TokenID })),
        );
        return withHeaders(
          { TokenID: minted.id, Token: minted.jwt },
          { location: `${BASE}/tokens/${minted.id}` },
        );
      },
    }),
    operation('GET /tokens/:id', {
      id: 'getToken',
      scope: 'tokens:read',
      summary: 'Show a token',
      description: 'One token without its text',
      answer: tokenAnswer,
      handle: async ({ caller, params }) => toAnswer(await ownToken(caller, params.id)),
    }),
    operation('DELETE /tokens/:id', {
      id: 'revokeToken',
      scope: 'tokens:write',
      summary: 'Revoke a token',
      description:
        'Revokes it: `{}`. Takes effect in this process at once. `Children=true`: also the tokens, SMTP credentials and webhooks that were created with it, directly or not; then `{Tokens, Credentials, Webhooks}` says how many',
      query: { Children: flag().optional().describe('Also what was made with it') },
      answer: revokedTokenAnswer,
      handle: async ({ caller, params, query }) => {
        const token = await ownToken(caller, params.id);
        const children = query.Children === true;
        const revoked = await access.revoke(token.id, children);
        if (!children) return {};
        smtpCredentials.forget();
        return {
          Tokens: revoked?.tokens ?? 0,
          Credentials: revoked?.credentials ?? 0,
          Webhooks: revoked?.webhooks ?? 0,
        };
      },
    }),
    operation('POST /tokens/:id/rotate', {
      id: 'rotateToken',
      scope: 'tokens:write',
      proven: true,
      summary: 'Replace a token',
      description:
        '`{Overlap?}` in seconds, 0 to 604 800 (86 400): a new token with the same rights and lifetime, but not longer than the caller’s, 201 `{TokenID, Token, PreviousValidUntil}`. The old one ends after the overlap, and cannot be rotated again',
      body: { schema: ROTATION, example: { Overlap: 3600 }, mayBeEmpty: true },
      status: 201,
      answer: rotatedTokenAnswer,
      headers: { Location: 'Address of the new token' },
      once: createOnce,
      errors: ['from-domain-not-allowed', 'token-limit'],
      handle: async ({ caller, params, body, key }) => {
        const old = await ownToken(caller, params.id);
        // The new text has all rights of the old one: only a caller that could create such a token may get it.
        const verdict = mayMint(caller, old);
        if (verdict.kind === 'refused') throw new AppError(verdict.problem);
        const { ipAllowList, rateLimit } = old;
        granted(caller, { ipAllowList, rateLimit: rateLimit ?? Number.POSITIVE_INFINITY }, clock.now());
        const by = { ...makerOf(caller), endsAt: caller.bounds?.expiresAt ?? null };
        const shown = (TokenID: string, until: number) => ({ TokenID, PreviousValidUntil: isoTime(until) });
        const rotated = await access.rotate(
          old,
          body.Overlap ?? DEFAULT_OVERLAP_SECONDS,
          by,
          key && ((id, until) => key(shown(id, until))),
        );
        if (rotated === null) {
          const replacedBy = (await store.getToken({ id: old.id }))?.replacedBy ?? null;
          const why =
            replacedBy === null
              ? 'The token has ended: make a new one'
              : `The token was replaced by ${replacedBy} already: use that one. If you do not have its text, rotate it`;
          throw refuse('invalid-parameter', why);
        }
        return withHeaders(
          { ...shown(rotated.id, rotated.oldEndsAt), Token: rotated.jwt },
          { location: `${BASE}/tokens/${rotated.id}` },
        );
      },
    }),
  ];

  /** Throws AppError invalid-parameter. */
  function granted(caller: Caller, wish: LimitWish, now: number): Grant {
    const verdict = grantOf(caller, wish, { now, usualMs: DEFAULT_LIFETIME_MS });
    if (verdict.kind === 'refused') throw new AppError(verdict.problem);
    return verdict.grant;
  }

  function endOf(given: number | 'never' | undefined, now: number): number | null | undefined {
    if (given === undefined) return undefined;
    return given === 'never' ? null : now + given * 1000;
  }

  async function ownToken(caller: Caller, id: string): Promise<Token> {
    const token = await store.getToken({ id });
    return existing(token !== null && isOwn(caller, token) && token);
  }
}

function isOwn(caller: Caller, token: Token): boolean {
  return caller.domains.includes('*') || token.domains.every((domain) => caller.domains.includes(domain));
}

/** Throws AppError invalid-parameter for an unknown preset, or where both are given. */
function scopesOf(scopes: readonly Scope[] | undefined, preset: string | undefined): readonly Scope[] {
  if (scopes !== undefined && preset !== undefined) {
    throw invalidParameter('Give Scopes or Preset, not both', 'Preset');
  }
  if (scopes !== undefined) return [...new Set(scopes)];
  const word = (preset ?? 'Default').toLowerCase();
  for (const [name, list] of Object.entries(PRESETS)) if (name.toLowerCase() === word) return list;
  throw invalidParameter(`Preset is one of ${Object.keys(PRESETS).join(', ')}`, 'Preset');
}

function toAnswer(token: Token): Answer<typeof tokenAnswer> {
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
    ReplacedBy: token.replacedBy,
  };
}
