/**
 * SMTP credentials: user names and passwords for submission, each for one domain. The password is only in the answer
 * that created it; a caller sees and ends only those of its own domains.
 */

import { z } from 'zod';
import { AppError } from '../../../lib/errors.ts';
import type { SmtpCredential } from '../../../model/smtp-credential.ts';
import { grantOf } from '../../../policy/access/may-mint.ts';
import { pickDomain, requireScope } from '../../../policy/access/rights.ts';
import { type Answer, nothing, pageOf, time } from '../answer-schemas.ts';
import { lineOfName } from '../body/text-rules.ts';
import type { ApiParts } from '../deps.ts';
import { operation, withHeaders, withoutUndefined } from '../operation.ts';
import { paging } from '../paging.ts';
import { DOMAIN } from '../query.ts';
import { type ApiRoute, BASE, existing, isoTime, isoTimeOrNull } from '../route.ts';
import { ownDomains } from '../tenancy.ts';
import { maker } from './tokens.ts';

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

const smtpCredential = z.object(credential).meta({ id: 'SmtpCredential' });

const newSmtpCredentialAnswer = z
  .object({ ...credential, Password: z.string().describe('Shown this once') })
  .meta({ id: 'NewSmtpCredentialAnswer' });

const PAGES = paging('smtp-credentials', z.uuid(), ({ id }: { id: string }) => id);

const NEW_CREDENTIAL = z.object({
  Name: lineOfName(128).optional(),
  Domain: z.string().max(255).optional(),
  Sandbox: z.boolean().optional(),
  Notices: z.boolean().optional(),
});

export function smtpCredentialOperations({
  store,
  smtpCredentials,
  clock,
  createOnce,
}: ApiParts): readonly ApiRoute[] {
  return [
    operation('GET /smtp-credentials', {
      id: 'listSmtpCredentials',
      scope: 'smtp:write',
      summary: 'List SMTP credentials',
      description: 'User names for SMTP submission, newest first, a page. `Domain` filters',
      query: { ...DOMAIN, ...PAGES.query },
      answer: pageOf('SmtpCredentialList', smtpCredential),
      handle: async ({ query, visible }) => {
        const rows = await store.listSmtpCredentials({
          ...visible,
          ...withoutUndefined({ beforeId: query.After }),
          limit: query.Limit + 1,
        });
        return PAGES.pageOf(rows, query, toAnswer);
      },
    }),
    operation('POST /smtp-credentials', {
      id: 'createSmtpCredential',
      scope: 'smtp:write',
      proven: true,
      summary: 'Make an SMTP credential',
      description:
        '`{Domain?, Name?, Sandbox?, Notices?}`: 201 `{CredentialID, Username, Password, …}`; the password is shown only here. Needs `email:send` too. It has the `IPAllowList` and the rate of the token that creates it, and ends with that token at the latest. `Notices: false`: senders get no mail about failures. At most 1000 a domain',
      body: { schema: NEW_CREDENTIAL, example: { Name: 'printer', Domain: 'example.com' } },
      status: 201,
      answer: newSmtpCredentialAnswer,
      headers: { Location: 'Address of the credential' },
      once: createOnce,
      errors: ['domain-ambiguous', 'not-found', 'smtp-credential-limit'],
      handle: async ({ caller, body, key }) => {
        // Whoever has the password can send with it.
        requireScope(caller, 'email:send');
        const domain = pickDomain(caller, body.Domain);
        const verdict = grantOf(caller, {}, { now: clock.now(), usualMs: null });
        if (verdict.kind === 'refused') throw new AppError(verdict.problem);
        const { credential, password } = await smtpCredentials.create({
          name: body.Name ?? domain,
          domain,
          // A sandbox token can only create sandbox credentials.
          sandbox: caller.sandbox || body.Sandbox === true,
          notices: body.Notices !== false,
          grant: verdict.grant,
          ...withoutUndefined({ idempotency: key && ((made: SmtpCredential) => key(toAnswer(made))) }),
        });
        return withHeaders(
          { ...toAnswer(credential), Password: password },
          { location: `${BASE}/smtp-credentials/${credential.id}` },
        );
      },
    }),
    operation('DELETE /smtp-credentials/:id', {
      id: 'deleteSmtpCredential',
      scope: 'smtp:write',
      summary: 'End an SMTP credential',
      description: 'Removes it: `{}`. Takes effect in this process at once',
      answer: nothing,
      handle: async ({ caller, params }) => {
        existing(await smtpCredentials.remove({ id: params.id, ...ownDomains(caller) }));
        return {};
      },
    }),
  ];
}

function toAnswer(credential: SmtpCredential): Answer<typeof smtpCredential> {
  return {
    CredentialID: credential.id,
    Username: credential.username,
    Name: credential.name,
    Domain: credential.domain,
    Sandbox: credential.sandbox,
    Notices: credential.notices,
    IPAllowList: credential.ipAllowList,
    RateLimit: credential.rateLimit,
    CreatedBy: credential.createdBy,
    CreatedAt: isoTime(credential.createdAt),
    ExpiresAt: isoTimeOrNull(credential.expiresAt),
  };
}
