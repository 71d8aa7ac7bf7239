/**
 * The people who may sign in, for operators: list, add, change, remove, set a password. A changed person must sign in
 * again. A token with limits may not add people, because people have no limits.
 */
import { z } from 'zod';
import { AppError } from '../../../lib/errors.ts';
import { MEMBER_PRESETS, type Person, ROLES } from '../../../model/person.ts';
import type { Caller } from '../../../model/submission.ts';
import { NO_BOUNDS } from '../../../model/token.ts';
import type { Revoked } from '../../../policy/access/access.ts';
import { type Answer, pageOf, time } from '../answer-schemas.ts';
import type { ApiParts } from '../deps.ts';
import { operation, withHeaders, withoutUndefined } from '../operation.ts';
import { paging } from '../paging.ts';
import { flag } from '../query.ts';
import { type ApiRoute, BASE, existing, invalidParameter, isoTime, isoTimeOrNull, refuse } from '../route.ts';
import { domainName, revokedTokenAnswer } from './tokens.ts';

const personAnswer = z
  .object({
    PersonID: z.string(),
    Email: z.string(),
    Role: z.enum(ROLES),
    Domains: z.array(z.string()).describe('["*"] = all'),
    Preset: z.enum(MEMBER_PRESETS).nullable().describe('What a member may do; null for other roles'),
    CreatedAt: time,
    LastSignInAt: time.nullable(),
    DisabledAt: time.nullable().describe('null = may sign in'),
    HasPassword: z.boolean().describe('false: signs in by the identity provider only'),
    SecondFactor: z.boolean().describe('Signing in with the password asks for a code, too'),
    Identity: z
      .object({ Issuer: z.string(), Subject: z.string() })
      .nullable()
      .describe('The account of the identity provider that has signed in as this person; no other one can'),
  })
  .meta({ id: 'Person' });

type PersonAnswer = Answer<typeof personAnswer>;

const PAGES = paging('people', z.uuid(), ({ id }: { id: string }) => id);
const MAX_DOMAINS = 100;
const PASSWORD = z.string({ error: 'a password is required' }).max(1_024).describe('At least 12 characters');
const RIGHTS = {
  Domains: z
    .array(domainName)
    .min(1)
    .max(MAX_DOMAINS)
    .optional()
    .describe('Of a member or viewer; ["*"] = all, for viewers only'),
  Preset: z.enum(MEMBER_PRESETS).optional().describe('Of a member; Default where left out'),
};
const NEW_PERSON = z.object({
  Email: z.string({ error: 'an address is required' }).max(320),
  Password: PASSWORD.optional().describe(
    'At least 12 characters; left out: signs in by the identity provider only',
  ),
  Role: z.enum(ROLES),
  ...RIGHTS,
});
const CHANGES = z.object({
  Role: z.enum(ROLES).optional(),
  ...RIGHTS,
  Disabled: z
    .boolean()
    .optional()
    .describe('true: may not sign in, and what the person made ends as with Children=true'),
});

const CHILDREN = {
  Children: flag()
    .optional()
    .describe('Also end the tokens, SMTP credentials and webhooks that the person made, and what those made'),
};

export function peopleOperations({
  store,
  people,
  access,
  smtpCredentials,
  createWithPasswordOnce: createOnce,
  identityProvider,
}: ApiParts): readonly ApiRoute[] {
  return [
    operation('GET /people', {
      id: 'listPeople',
      scope: 'admin',
      summary: 'List people',
      description: 'The people who may sign in to the dashboard, newest first, a page',
      query: PAGES.query,
      answer: pageOf('PersonList', personAnswer),
      handle: async ({ query }) => {
        const rows = await store.listPeople({
          ...withoutUndefined({ beforeId: query.After }),
          limit: query.Limit + 1,
        });
        return PAGES.pageOf(rows, query, toAnswer);
      },
    }),
    operation('POST /people', {
      id: 'createPerson',
      scope: 'admin',
      proven: true,
      summary: 'Add a person',
      description:
        '`{Email, Password?, Role, Domains?, Preset?}`: 201 and the person. `operator` may do everything; `member` what the preset may, for `Domains`; `viewer` may read. Takes `Idempotency-Key`',
      body: {
        schema: NEW_PERSON,
        example: {
          Email: 'ada@example.com',
          Password: 'correct horse battery',
          Role: 'member',
          Domains: ['example.com'],
          Preset: 'Full',
        },
      },
      status: 201,
      answer: personAnswer,
      headers: { Location: 'Address of the person' },
      once: createOnce,
      errors: ['domain-invalid', 'person-exists', 'person-limit', 'password-refused'],
      handle: async ({ caller, body, key }) => {
        requireNoLimits(caller);
        if (body.Password === undefined && identityProvider == null) {
          const message =
            'Without a password people sign in by an identity provider, and none is configured (oidc-issuer)';
          throw invalidParameter(message, 'Password');
        }
        const person = await people.add({
          email: body.Email,
          password: body.Password ?? null,
          role: body.Role,
          domains: body.Domains,
          preset: body.Preset,
          inSession: caller.session,
          idempotency: key && ((made) => key(toAnswer(made))),
        });
        return withHeaders(toAnswer(person), { location: `${BASE}/people/${person.id}` });
      },
    }),
    operation('GET /people/:id', {
      id: 'getPerson',
      scope: 'admin',
      summary: 'Show a person',
      description: 'One person; passwords are never shown',
      answer: personAnswer,
      handle: async ({ params }) => found(await store.getPerson({ id: params.id })),
    }),
    operation('PATCH /people/:id', {
      id: 'updatePerson',
      scope: 'admin',
      proven: true,
      summary: 'Change a person',
      description:
        '`{Role?, Domains?, Preset?, Disabled?}`: answers with the person and ends all sessions of the person. What the person created keeps its rights, but ends with `Disabled: true` or `Children=true`',
      query: CHILDREN,
      body: { schema: CHANGES, example: { Role: 'viewer', Domains: ['example.com'] } },
      answer: personAnswer,
      errors: ['domain-invalid'],
      handle: async ({ caller, params, query, body }) => {
        requireNoLimits(caller);
        const person = found(
          await people.change(
            params.id,
            { role: body.Role, domains: body.Domains, preset: body.Preset, disabled: body.Disabled },
            caller.session,
          ),
        );
        if (body.Disabled === true || query.Children === true) await endMadeBy(params.id);
        return person;
      },
    }),
    operation('PUT /people/:id/password', {
      id: 'setPassword',
      scope: 'admin',
      proven: true,
      summary: 'Set the password of a person',
      description:
        '`{Password}`: answers with the person and ends all sessions of the person. Your own password is changed with `PUT /session/password`',
      query: CHILDREN,
      body: { schema: z.object({ Password: PASSWORD }), example: { Password: 'a longer and better one' } },
      answer: personAnswer,
      errors: ['password-refused'],
      handle: async ({ caller, params, query, body }) => {
        requireNoLimits(caller);
        refuseOwn(caller, params.id, 'password: change it with PUT /session/password');
        const person = found(await people.setPassword(params.id, body.Password, caller.session));
        if (query.Children === true) await endMadeBy(params.id);
        return person;
      },
    }),
    operation('DELETE /people/:id/totp', {
      id: 'resetTotp',
      scope: 'admin',
      proven: true,
      summary: 'Reset the second factor of a person',
      description:
        'Switches off the second factor of a person who lost the app and the recovery codes; answers with the person and ends all sessions of the person. Your own is switched off with `POST /session/totp/off`',
      answer: personAnswer,
      handle: async ({ caller, params }) => {
        requireNoLimits(caller);
        refuseOwn(caller, params.id, 'second factor: switch it off with POST /session/totp/off');
        return found(await people.resetSecondFactor(params.id, caller.session));
      },
    }),
    operation('DELETE /people/:id/identity', {
      id: 'forgetIdentity',
      scope: 'admin',
      proven: true,
      summary: 'Forget the account of a person at the identity provider',
      description:
        'Removes the link to an account of the identity provider; answers with the person and ends all sessions of the person. The next account that signs in with the address is linked',
      answer: personAnswer,
      handle: async ({ caller, params }) => {
        requireNoLimits(caller);
        return found(await people.forgetIdentity(params.id, caller.session));
      },
    }),
    operation('DELETE /people/:id', {
      id: 'deletePerson',
      scope: 'admin',
      proven: true,
      summary: 'Remove a person',
      description:
        'Ends all sessions and removes the person: `{}`. `Children=true`: also the tokens, SMTP credentials and webhooks that the person made, and what was made with those; then `{Tokens, Credentials, Webhooks}` says how many; may be repeated after the person is gone',
      query: CHILDREN,
      answer: revokedTokenAnswer,
      handle: async ({ caller, params, query }) => {
        requireNoLimits(caller);
        // The person is removed first, so that nothing can be created after the search for what the person created.
        const person = await people.change(params.id, { disabled: true }, caller.session);
        const ended = query.Children === true ? await endMadeBy(params.id) : null;
        const isRemoved = person !== null && (await people.remove(person.id));
        // If the person is gone already, the rest of an interrupted removal is completed.
        if (!isRemoved && !Object.values(ended ?? {}).some((n) => n > 0)) throw refuse('not-found');
        if (ended === null) return {};
        return { Tokens: ended.tokens, Credentials: ended.credentials, Webhooks: ended.webhooks };
      },
    }),
  ];

  async function endMadeBy(id: string): Promise<Revoked> {
    const ended = await access.endMadeWith(id);
    smtpCredentials.forget();
    return ended;
  }
}

/**
 * One's own password and second factor can only be changed with the present ones. Throws AppError
 * `invalid-parameter`.
 */
function refuseOwn(caller: Caller, id: string, what: string): void {
  if (caller.session === undefined || caller.tokenId !== id) return;
  throw refuse('invalid-parameter', `This is your own ${what}`);
}

/**
 * Sessions of people have no limits, so a limited token could avoid its own by adding a person. Throws AppError
 * `scope-missing`.
 */
function requireNoLimits(caller: Caller): void {
  const { expiresAt, ipAllowList } = caller.bounds ?? NO_BOUNDS;
  const isFree = expiresAt === null && ipAllowList.length === 0;
  if (isFree && !caller.sandbox && caller.rateLimit === null) return;
  throw new AppError('scope-missing', {
    message:
      'A token that ends, is for the sandbox, or is limited to addresses or a rate cannot make, change or remove people',
  });
}

function found(person: Person | null): PersonAnswer {
  return toAnswer(existing(person));
}

function toAnswer(person: Person): PersonAnswer {
  return {
    PersonID: person.id,
    Email: person.email,
    Role: person.role,
    Domains: person.domains,
    Preset: person.preset,
    CreatedAt: isoTime(person.createdAt),
    LastSignInAt: isoTimeOrNull(person.lastSignInAt),
    DisabledAt: isoTimeOrNull(person.disabledAt),
    HasPassword: person.passwordHash !== null,
    SecondFactor: person.secondFactor !== null,
    Identity: person.identity && { Issuer: person.identity.issuer, Subject: person.identity.subject },
  };
}
