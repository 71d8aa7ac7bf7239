/**
 * The session of a person: signing in and out, the person's rights, other sessions and password. A session is proved
 * by a cookie that scripts cannot read; the answer to POST /session sets it, and no body contains it. Requests that
 * sign in or change something must come from the dashboard of this server (callers.ts checks that).
 */
import { z } from 'zod';
import type { Person } from '../../../model/person.ts';
import { PROOF_MS, ROLES } from '../../../model/person.ts';
import type { Caller } from '../../../model/submission.ts';
import { DEVICE_MS } from '../../../policy/access/known-devices.ts';
import { cookieText, setCookie } from '../../../policy/access/session-page.ts';
import { LIFETIME_MS, MAX_SESSIONS, type SignedIn } from '../../../policy/access/sessions.ts';
import { type Answer, nothing, time } from '../answer-schemas.ts';
import type { ApiParts } from '../deps.ts';
import { operation, type WithHeaders, withHeaders } from '../operation.ts';
import { type ApiRequest, type ApiRoute, existing, invalidParameter, isoTime, refuse } from '../route.ts';

export const sessionAnswer = z
  .object({
    Person: z
      .object({
        PersonID: z.string(),
        Email: z.string(),
        Role: z.enum(ROLES),
        HasPassword: z.boolean().describe('false: signs in by the identity provider only'),
        SecondFactor: z.boolean(),
      })
      .nullable()
      .describe('null: the request came with a token'),
    SessionID: z.string().nullable(),
    ProvenUntil: time
      .nullable()
      .describe(
        'Until then, tokens, webhooks and the like can be made without a new proof (`POST /session/proof`). null: a proof is needed now; with a token, never',
      ),
    MustSetUpSecondFactor: z.boolean().describe('Everything else is refused before (`PUT /session/totp`)'),
    Domains: z.array(z.string()).describe('["*"] = all; the first 100'),
    Scopes: z.array(z.string()),
  })
  .meta({ id: 'Session' });

const openSession = z
  .object({
    SessionID: z.string(),
    Current: z.boolean().describe('The one that asks'),
    CreatedAt: time,
    LastUsedAt: time,
    EndsAt: time.describe('Sooner where it is not used'),
    UserAgent: z.string().describe('Of the browser that signed in'),
    IP: z.string(),
  })
  .meta({ id: 'OpenSession' });

type SessionAnswer = Answer<typeof sessionAnswer>;

const CODE = z.string({ error: 'a code is required' }).max(40);
const SIGN_IN = z.object({
  Email: z.string({ error: 'an address is required' }).max(320),
  Password: z.string({ error: 'a password is required' }).max(1_024),
  Code: CODE.optional().describe(
    'Of the authenticator app, or a recovery code; where the person has a second factor',
  ),
});
const PROOF = z.object({
  Password: z.string({ error: 'the current password is required' }).max(1_024),
  Code: CODE.optional().describe('Where the person has a second factor'),
});
const NEW_PASSWORD = z.object({
  Password: z.string({ error: 'the current password is required' }).max(1_024),
  NewPassword: z.string({ error: 'a new password is required' }).max(1_024),
});
const TOTP_ON = z.object({
  Password: z.string({ error: 'the current password is required' }).max(1_024),
  Secret: z.string({ error: 'a secret is required' }).max(100).describe('As POST /session/totp made it'),
  Code: CODE.describe('What the app shows for it'),
});
const TOTP_OFF = TOTP_ON.omit({ Secret: true }).extend({ Code: CODE });
const MAX_SHOWN_DOMAINS = 100;
const COOKIE_SECONDS = LIFETIME_MS / 1000;

export function sessionOperations({ store, sessions, people, secondFactors }: ApiParts): readonly ApiRoute[] {
  return [
    operation('POST /session', {
      id: 'signIn',
      scope: null,
      open: true,
      summary: 'Sign in',
      description:
        '`{Email, Password, Code?}`: sets a session cookie and ends the session that the browser had before. Only from the dashboard of this server; programs use tokens',
      body: { schema: SIGN_IN, example: { Email: 'ada@example.com', Password: 'correct horse battery' } },
      answer: sessionAnswer,
      headers: {
        'Set-Cookie': 'The session, and a mark of the browser, by which it is known at the next sign-in',
      },
      errors: ['sign-in-failed', 'code-required', 'code-wrong'],
      handle: async ({ body, request }) => {
        const signedIn = await sessions.signIn({
          email: body.Email,
          password: body.Password,
          code: body.Code ?? null,
          ...browserOf(request),
        });
        return signedInAnswer(signedIn, request);
      },
    }),
    operation('GET /session', {
      id: 'getSession',
      scope: null,
      summary: 'Show the session',
      description: 'The person or token that sends the request, and its rights; `Person` is null for a token',
      answer: sessionAnswer,
      handle: async ({ caller }) =>
        toAnswer(caller, caller.session === undefined ? null : await personOf(caller)),
    }),
    operation('DELETE /session', {
      id: 'signOut',
      scope: null,
      summary: 'Sign out',
      description: 'Ends the session and removes its cookie: `{}`',
      answer: nothing,
      headers: { 'Set-Cookie': 'Without a session' },
      errors: ['session-required'],
      handle: async ({ caller, request }) => {
        const { id, personId } = sessionOf(caller);
        await sessions.end({ id, personId });
        return withHeaders({}, { 'set-cookie': setCookie('session', '', 0, request) });
      },
    }),
    operation('POST /session/proof', {
      id: 'proveSession',
      scope: null,
      summary: 'Prove again who one is',
      description:
        '`{Password, Code?}`: `{ProvenUntil}`. Making tokens, SMTP credentials and webhooks, changing where webhooks are called or for what, and changing people, needs a proof, or a sign-in, of the last ten minutes (`proof-required`); tokens are not asked. A person without a password goes to the identity provider (`POST /session/provider` with `Again`)',
      body: { schema: PROOF, example: { Password: 'correct horse battery' } },
      answer: z.object({ ProvenUntil: time }).meta({ id: 'SessionProof' }),
      errors: ['session-required', 'password-wrong', 'code-wrong'],
      handle: async ({ caller, body, request }) => {
        const { id, person } = await ownSession(caller);
        // Not `code-required`: 401 would mean that the session has ended.
        if (person.secondFactor !== null && body.Code === undefined)
          throw invalidParameter('A code of your authenticator app is required, too', 'Code');
        const given = { password: body.Password, code: body.Code ?? null, ip: request.ip };
        const until = await sessions.prove(id, person, given);
        return { ProvenUntil: isoTime(until) };
      },
    }),
    operation('PUT /session/password', {
      id: 'changePassword',
      scope: null,
      summary: 'Change one’s password',
      description: '`{Password, NewPassword}`: `{}`. All other sessions of the person end',
      body: {
        schema: NEW_PASSWORD,
        example: { Password: 'correct horse battery', NewPassword: 'a longer and better one' },
      },
      answer: nothing,
      errors: ['session-required', 'password-wrong', 'password-refused'],
      handle: async ({ caller, body, request }) => {
        const { id, person } = await ownSession(caller);
        await sessions.checkPassword(id, person, body.Password, request.ip);
        await people.changePassword(person, body.NewPassword, id);
        return {};
      },
    }),
    operation('POST /session/totp', {
      id: 'makeTotpSecret',
      scope: null,
      summary: 'Make a secret for an authenticator app',
      description: '`{Secret, URI}`: for the app; nothing is stored before `PUT /session/totp`',
      answer: z
        .object({
          Secret: z.string().describe('Base32'),
          URI: z.string().describe('`otpauth:`, for a QR code'),
        })
        .meta({ id: 'TotpSecret' }),
      errors: ['session-required'],
      handle: async ({ caller }) => {
        const { person } = await ownSession(caller);
        const { secret, uri } = secondFactors.newSecret(person.email);
        return { Secret: secret, URI: uri };
      },
    }),
    operation('PUT /session/totp', {
      id: 'switchOnTotp',
      scope: null,
      summary: 'Switch on the second factor',
      description:
        '`{Password, Secret, Code}`: `{RecoveryCodes}`, which are shown only here and count once each. All other sessions of the person end. Refused where it is on',
      body: {
        schema: TOTP_ON,
        example: {
          Password: 'correct horse battery',
          Secret: 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ',
          Code: '123456',
        },
      },
      answer: z.object({ RecoveryCodes: z.array(z.string()) }).meta({ id: 'RecoveryCodes' }),
      errors: ['session-required', 'password-wrong', 'code-wrong'],
      handle: async ({ caller, body, request }) => {
        const { id, person } = await ownSession(caller);
        await sessions.checkPassword(id, person, body.Password, request.ip);
        if (person.secondFactor !== null) {
          throw refuse('invalid-parameter', 'The second factor is on: switch it off first');
        }
        const begun = secondFactors.begin(body.Secret, body.Code);
        if (begun === null) throw refuse('code-wrong');
        await people.changeSecondFactor(person, begun.factor, id);
        return { RecoveryCodes: begun.recoveryCodes };
      },
    }),
    operation('POST /session/totp/off', {
      id: 'switchOffTotp',
      scope: null,
      summary: 'Switch off the second factor',
      description:
        '`{Password, Code}`, a code of the app or a recovery code: `{}`. All other sessions of the person end',
      body: { schema: TOTP_OFF, example: { Password: 'correct horse battery', Code: '123456' } },
      answer: nothing,
      errors: ['session-required', 'password-wrong', 'code-wrong'],
      handle: async ({ caller, body, request }) => {
        const { id, person } = await ownSession(caller);
        if (sessions.requiresSecondFactor)
          throw refuse('second-factor-required', 'This server requires a second factor: it stays on');
        await sessions.checkPassword(id, person, body.Password, request.ip);
        sessions.checkCode(id, person, body.Code, request.ip);
        await people.changeSecondFactor(person, null, id);
        return {};
      },
    }),
    operation('GET /session/all', {
      id: 'listSessions',
      scope: null,
      summary: 'List one’s sessions',
      description: `The sessions of the person who sends the request, the newest first; at most ${MAX_SESSIONS}`,
      answer: z.object({ Items: z.array(openSession) }).meta({ id: 'SessionList' }),
      errors: ['session-required'],
      handle: async ({ caller }) => {
        const own = sessionOf(caller);
        const rows = await store.listSessions({ personId: own.personId, limit: MAX_SESSIONS });
        return {
          Items: rows.map((row) => ({
            SessionID: row.id,
            Current: row.id === own.id,
            CreatedAt: isoTime(row.createdAt),
            LastUsedAt: isoTime(row.lastUsedAt),
            EndsAt: isoTime(row.endsAt),
            UserAgent: row.userAgent,
            IP: row.ip,
          })),
        };
      },
    }),
    operation('DELETE /session/all/:id', {
      id: 'endSession',
      scope: null,
      summary: 'End one of one’s sessions',
      description: 'Ends one session: `{}`. Whoever uses it has to sign in again',
      answer: nothing,
      errors: ['session-required'],
      handle: async ({ caller, params }) => {
        const { personId } = sessionOf(caller);
        existing(await sessions.end({ id: params.id, personId }));
        return {};
      },
    }),
  ];

  async function ownSession(caller: Caller): Promise<{ id: string; person: Person }> {
    const { id } = sessionOf(caller);
    return { id, person: await personOf(caller) };
  }

  async function personOf(caller: Caller): Promise<Person> {
    const person = await store.getPerson({ id: caller.tokenId });
    // Removed while the request was under way.
    if (person === null) throw refuse('session-ended');
    return person;
  }
}

/** What is kept of the browser that signs in, and the session that it ends there. */
export function browserOf(request: ApiRequest) {
  return {
    ip: request.ip,
    userAgent: request.header('user-agent') ?? '',
    replaces: cookieText('session', request),
    device: cookieText('device', request),
  };
}

/** The answer to a sign-in, with the cookies. */
export function signedInAnswer(
  { caller, person, secret, device }: SignedIn,
  request: ApiRequest,
): WithHeaders<SessionAnswer> {
  const cookies = [
    setCookie('session', secret, COOKIE_SECONDS, request),
    setCookie('device', device, DEVICE_MS / 1000, request),
  ];
  return withHeaders(toAnswer(caller, person), { 'set-cookie': cookies }, caller);
}

/** Throws AppError `session-required`. */
function sessionOf(caller: Caller): { id: string; personId: string } {
  if (caller.session === undefined) throw refuse('session-required');
  return { id: caller.session, personId: caller.tokenId };
}

function toAnswer(caller: Caller, person: Person | null): SessionAnswer {
  return {
    Person:
      person === null
        ? null
        : {
            PersonID: person.id,
            Email: person.email,
            Role: person.role,
            HasPassword: person.passwordHash !== null,
            SecondFactor: person.secondFactor !== null,
          },
    SessionID: caller.session ?? null,
    ProvenUntil: caller.provenAt ? isoTime(caller.provenAt + PROOF_MS) : null,
    MustSetUpSecondFactor: caller.only !== undefined,
    Domains: caller.domains.slice(0, MAX_SHOWN_DOMAINS),
    Scopes: [...caller.scopes],
  };
}
