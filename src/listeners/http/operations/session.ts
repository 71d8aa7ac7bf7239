/**
 * The session of a person: signing in and out, who one is and what one may, one's other sessions, one's password. What proves
 * a session is a cookie that no script reads; it is set by the answer to POST /session and stands in no body. A request that
 * signs in comes from the dashboard of this server, as every changing request of a session does (server.ts sees to it).
 */
import { z } from 'zod';
import type { Person } from '../../../model/person.ts';
import { ROLES } from '../../../model/person.ts';
import type { Caller } from '../../../model/submission.ts';
import type { People } from '../../../policy/access/people.ts';
import { sessionCookie, sessionSecret } from '../../../policy/access/session-page.ts';
import { LIFETIME_MS, MAX_SESSIONS, type Sessions } from '../../../policy/access/sessions.ts';
import type { Store } from '../../../store/store.ts';
import { type Answer, nothing, time } from '../answer-schemas.ts';
import { operation, withHeaders } from '../operation.ts';
import { type ApiRoute, isoTime, refuse } from '../route.ts';

const sessionAnswer = z
  .object({
    Person: z
      .object({ PersonID: z.string(), Email: z.string(), Role: z.enum(ROLES) })
      .nullable()
      .describe('null: the request came with a token'),
    SessionID: z.string().nullable(),
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

export type SessionAnswer = Answer<typeof sessionAnswer>;

const SIGN_IN = z.object({
  Email: z.string({ error: 'an address is required' }).max(320),
  Password: z.string({ error: 'a password is required' }).max(1_024),
});
const NEW_PASSWORD = z.object({
  Password: z.string({ error: 'the current password is required' }).max(1_024),
  NewPassword: z.string({ error: 'a new password is required' }).max(1_024),
});
const MAX_SHOWN_DOMAINS = 100;
const COOKIE_SECONDS = LIFETIME_MS / 1000;

/** The operations of one's own session. */
export function sessionOperations(deps: {
  store: Pick<Store, 'getPerson' | 'listSessions'>;
  sessions: Sessions;
  people: Pick<People, 'changePassword'>;
}): readonly ApiRoute[] {
  const { store, sessions, people } = deps;
  return [
    operation({
      id: 'signIn',
      method: 'POST',
      path: '/session',
      scope: null,
      limitedTokens: true,
      open: true,
      summary: 'Sign in',
      description:
        '`{Email, Password}`: sets a session cookie and ends the session that the browser had before. Only from the dashboard of this server; programs use tokens',
      body: { schema: SIGN_IN, example: { Email: 'ada@example.com', Password: 'correct horse battery' } },
      answer: sessionAnswer,
      headers: { 'Set-Cookie': 'The session' },
      errors: ['sign-in-failed'],
      handle: async ({ body, request }) => {
        const { secret, person, caller } = await sessions.signIn({
          email: body.Email,
          password: body.Password,
          ip: request.ip,
          userAgent: request.header('user-agent') ?? '',
          replaces: sessionSecret(request),
        });
        return withHeaders(toAnswer(caller, person), {
          'set-cookie': sessionCookie(secret, COOKIE_SECONDS, request),
        });
      },
    }),
    operation({
      id: 'getSession',
      method: 'GET',
      path: '/session',
      scope: null,
      limitedTokens: true,
      summary: 'Show the session',
      description: 'Who asks, and what they may do; `Person` is null where the request came with a token',
      answer: sessionAnswer,
      handle: async ({ caller }) =>
        toAnswer(caller, caller.session === undefined ? null : await personOf(caller)),
    }),
    operation({
      id: 'signOut',
      method: 'DELETE',
      path: '/session',
      scope: null,
      limitedTokens: true,
      summary: 'Sign out',
      description: 'Ends the session and removes its cookie: `{}`',
      answer: nothing,
      headers: { 'Set-Cookie': 'Without a session' },
      errors: ['session-required'],
      handle: async ({ caller, request }) => {
        const { id, personId } = sessionOf(caller);
        await sessions.end({ id, personId });
        return withHeaders({}, { 'set-cookie': sessionCookie('', 0, request) });
      },
    }),
    operation({
      id: 'changePassword',
      method: 'PUT',
      path: '/session/password',
      scope: null,
      limitedTokens: true,
      summary: 'Change one’s password',
      description: '`{Password, NewPassword}`: `{}`. All other sessions of the person end',
      body: {
        schema: NEW_PASSWORD,
        example: { Password: 'correct horse battery', NewPassword: 'a longer and better one' },
      },
      answer: nothing,
      errors: ['session-required', 'password-wrong', 'password-refused'],
      handle: async ({ caller, body, request }) => {
        const { id } = sessionOf(caller);
        const person = await personOf(caller);
        await sessions.checkPassword(person, body.Password, request.ip);
        await people.changePassword(person, body.NewPassword, id);
        return {};
      },
    }),
    operation({
      id: 'listSessions',
      method: 'GET',
      path: '/session/all',
      scope: null,
      limitedTokens: true,
      summary: 'List one’s sessions',
      description: `The sessions of the person who asks, the newest first; at most ${MAX_SESSIONS}`,
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
    operation({
      id: 'endSession',
      method: 'DELETE',
      path: '/session/all/:id',
      scope: null,
      limitedTokens: true,
      summary: 'End one of one’s sessions',
      description: 'Whoever uses it has to sign in again: `{}`',
      answer: nothing,
      errors: ['session-required'],
      handle: async ({ caller, params }) => {
        const { personId } = sessionOf(caller);
        if (!(await sessions.end({ id: params.id, personId }))) throw refuse('not-found');
        return {};
      },
    }),
  ];

  async function personOf(caller: Caller): Promise<Person> {
    const person = await store.getPerson({ id: caller.tokenId });
    // Removed while the request was under way.
    if (person === null) throw refuse('session-ended');
    return person;
  }
}

/** Throws AppError `session-required`. */
function sessionOf(caller: Caller): { id: string; personId: string } {
  if (caller.session === undefined) throw refuse('session-required');
  return { id: caller.session, personId: caller.tokenId };
}

function toAnswer(caller: Caller, person: Person | null): SessionAnswer {
  return {
    Person: person === null ? null : { PersonID: person.id, Email: person.email, Role: person.role },
    SessionID: caller.session ?? null,
    Domains: caller.domains.slice(0, MAX_SHOWN_DOMAINS),
    Scopes: [...caller.scopes],
  };
}
