/**
 * SMTP credentials (api.md §3): user names and passwords for submission, each for one domain. The password is in the
 * answer that made it and nowhere else; a caller sees and ends only those of its own domains.
 */

import { z } from 'zod';
import type { Clock } from '../../../lib/clock.ts';
import { AppError } from '../../../lib/errors.ts';
import { isUuid } from '../../../lib/ids.ts';
import type { SmtpCredential } from '../../../model/smtp-credential.ts';
import { pickDomain, requireScope } from '../../../policy/access/access.ts';
import { grantOf } from '../../../policy/access/may-mint.ts';
import type { SmtpCredentials } from '../../../policy/access/smtp-credentials.ts';
import type { Store } from '../../../store/store.ts';
import type { NewSmtpCredentialAnswer, SmtpCredentialAnswer } from '../contract/answers/access.ts';
import { newSmtpCredentialAnswer, smtpCredentialList } from '../contract/schemas/access.ts';
import { nothing } from '../contract/schemas/problem.ts';
import { DOMAIN, PAGE } from '../contract/schemas/query.ts';
import { type CreateOnce, withEntry } from '../create-once.ts';
import { readJsonBody } from '../json-request.ts';
import {
  type ApiRoute,
  isoTime,
  isoTimeOrNull,
  json,
  page,
  pageLimit,
  queryCursor,
  refuse,
} from '../route.ts';
import { listedDomains, ownDomains } from '../tenancy.ts';

const NEW_CREDENTIAL = z.object({
  Name: z.string().trim().min(1).max(128).optional(),
  Domain: z.string().max(255).optional(),
  Sandbox: z.boolean().optional(),
  Notices: z.boolean().optional(),
});

/** The routes. */
export function smtpCredentialRoutes(deps: {
  store: Pick<Store, 'listSmtpCredentials'>;
  smtpCredentials: SmtpCredentials;
  clock: Clock;
  createOnce: CreateOnce;
}): readonly ApiRoute[] {
  const { store, smtpCredentials, clock, createOnce } = deps;
  return [
    {
      method: 'GET',
      path: '/smtp-credentials',
      scope: 'smtp:write',
      limitedTokens: true,
      contract: {
        id: 'listSmtpCredentials',
        summary: 'List SMTP credentials',
        description: 'User names for SMTP submission, newest first, a page. `Domain` filters',
        query: { ...DOMAIN, ...PAGE },
        answer: smtpCredentialList,
      },
      handle: async (request) => {
        const limit = pageLimit(request.query);
        const after = queryCursor(request.query, isUuid);
        const rows = await store.listSmtpCredentials({
          ...listedDomains(request),
          ...(after === undefined ? {} : { beforeId: after }),
          limit: limit + 1,
        });
        return json(page(rows, limit, ({ id }) => id, toAnswer));
      },
    },
    {
      method: 'POST',
      path: '/smtp-credentials',
      scope: 'smtp:write',
      limitedTokens: true,
      contract: {
        id: 'createSmtpCredential',
        summary: 'Make an SMTP credential',
        description:
          '`{Domain?, Name?, Sandbox?, Notices?}`: 201 `{CredentialID, Username, Password, …}`; the password is shown this once. Needs `email:send` too. It has the limits of the token that makes it: it ends with it at the latest, and has its `IPAllowList` and its rate. `Notices: false`: no mail to senders about failures',
        body: { schema: NEW_CREDENTIAL, example: { Name: 'printer', Domain: 'example.com' } },
        status: 201,
        answer: newSmtpCredentialAnswer,
        headers: { Location: 'Address of the credential' },
        idempotent: true,
        errors: ['domain-ambiguous', 'not-found'],
      },
      handle: (request) =>
        createOnce(request, 'POST /smtp-credentials', async (key) => {
          const body = readJsonBody(request, NEW_CREDENTIAL);
          const { caller } = request;
          // Whoever has the password sends with it.
          requireScope(caller, 'email:send');
          const domain = pickDomain(caller, body.Domain);
          const verdict = grantOf(caller, {}, { now: clock.now(), usualMs: null });
          if (verdict.kind === 'refused') throw new AppError(verdict.problem);
          const { credential, password } = await smtpCredentials.create({
            name: body.Name ?? domain,
            domain,
            // What cannot send for real cannot make something that does.
            sandbox: caller.sandbox || body.Sandbox === true,
            notices: body.Notices !== false,
            grant: verdict.grant,
            ...withEntry(key, (make) => (made: SmtpCredential) => make(201, toAnswer(made))),
          });
          const answer: NewSmtpCredentialAnswer = { ...toAnswer(credential), Password: password };
          return json(answer, 201, { location: `/api/v1/smtp-credentials/${credential.id}` });
        }),
    },
    {
      method: 'DELETE',
      path: '/smtp-credentials/:id',
      scope: 'smtp:write',
      limitedTokens: true,
      contract: {
        id: 'deleteSmtpCredential',
        summary: 'End an SMTP credential',
        description: 'Ends it: `{}`. Here at once',
        answer: nothing,
      },
      handle: async ({ caller, params }) => {
        const { id } = params;
        if (id === undefined || !(await smtpCredentials.remove({ id, ...ownDomains(caller) }))) {
          throw refuse('not-found');
        }
        return json({});
      },
    },
  ];
}

function toAnswer(credential: SmtpCredential): SmtpCredentialAnswer {
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
