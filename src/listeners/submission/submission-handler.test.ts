import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../lib/clock.ts';
import { silentLoggers } from '../../lib/log.ts';
import { createSystemRandom } from '../../lib/random.ts';
import { createSealer } from '../../lib/seal.ts';
import { createVirtualClock, type VirtualClock } from '../../lib/virtual-clock.ts';
import { NO_BOUNDS } from '../../model/token.ts';
import type { RawRequest } from '../../pipeline/accept/acceptance.ts';
import { type Access, createAccess } from '../../policy/access/access.ts';
import { createSmtpCredentials, type SmtpCredentials } from '../../policy/access/smtp-credentials.ts';
import { createSendRate } from '../../policy/limits/send-rate.ts';
import type { ServerEnvelope, SessionFacts } from '../../smtp/server-types.ts';
import { openTestStore } from '../../store/sqlite/test-support.ts';
import type { Store } from '../../store/store.ts';
import { createSubmissionHandler } from './submission-handler.ts';

let GRANT = { createdBy: '', rateLimit: null, ...NO_BOUNDS };
const FACTS: SessionFacts = {
  helo: 'client',
  esmtp: true,
  secured: false,
  authenticated: true,
};
const FROM = {
  address: { text: 'ann@example.com', local: 'ann', domain: 'example.com' },
  size: null,
  smtpUtf8: false,
  ret: null,
  envid: null,
} as ServerEnvelope['from'];
const TO = {
  address: { text: 'bob@example.net', local: 'bob', domain: 'example.net' },
  notify: [],
  orcpt: null,
} as unknown as ServerEnvelope['recipients'][number];

let clock: VirtualClock;
let store: Store;
let access: Access;
let credentials: SmtpCredentials;
let taken: RawRequest[];

beforeEach(async () => {
  store = await openTestStore(systemClock);
  clock = createVirtualClock();
  const random = createSystemRandom();
  const parts = { store, clock, random, log: silentLoggers.service };
  const sealer = createSealer([{ id: 'test', secret: random.bytes(32) }]);
  access = createAccess({ ...parts, sealer, instanceId: '0198f000-0000-7000-8000-000000000000' });
  credentials = createSmtpCredentials(parts, { costLog2: 4 });
  const maker = { name: 'maker', domains: ['example.com'], scopes: ['email:send' as const] };
  const { id } = await access.mint({
    ...{ ...maker, expiresInSeconds: null, sandbox: false, ipAllowList: [], rateLimit: null },
  });
  GRANT = { ...GRANT, createdBy: id };
  taken = [];
});

afterEach(async () => {
  await store.close();
});

function openSession() {
  return createSubmissionHandler(
    {
      access,
      credentials,
      acceptance: {
        refusing: () => null,
        async acceptRaw(request) {
          taken.push(request);
          return { kind: 'accepted', messageId: request.prepared.messageId };
        },
      },
      senders: { senderFor: async (_caller, name) => ({ kind: 'domain', name, quota: null }) },
      clock,
      random: createSystemRandom(),
      sendRate: createSendRate(clock, { perSecond: null }),
      refusals: { record() {} },
      log: silentLoggers.service,
    },
    { hostname: 'mail.example.com', ip: '192.0.2.1', anybody: null, minLabels: 2 },
  );
}

const logIn = (session: ReturnType<typeof openSession>, username: string, password: string) =>
  session.onAuth({ username, password }, FACTS);

function send(session: ReturnType<typeof openSession>, key?: string) {
  const bytes = Buffer.from(
    `From: ann@example.com\r\nTo: bob@example.net\r\nSubject: Hi\r\n${
      key === undefined ? '' : `X-Postrider-Idempotency-Key: ${key}\r\n`
    }\r\nHello\r\n`,
  );
  return session.onMessage({ from: FROM, recipients: [TO] }, { bytes, eightBit: false }, FACTS);
}

async function newToken(expiresInSeconds: number | null = 3_600) {
  return access.mint({
    name: 'printer',
    domains: ['example.com'],
    scopes: ['email:send'],
    expiresInSeconds,
    sandbox: false,
    ipAllowList: [],
    rateLimit: null,
  });
}

const newCredential = (name = 'printer') =>
  credentials.create({ name, domain: 'example.com', sandbox: false, notices: true, grant: GRANT });

describe('an open session', () => {
  it('ends at MAIL when its token is revoked here', async () => {
    const { id, jwt } = await newToken();
    const session = openSession();
    expect(await logIn(session, 'x', jwt)).toBeNull();
    expect(await session.onMail(FROM, FACTS)).toBeNull();
    await access.revoke(id);
    expect(await session.onMail(FROM, FACTS)).toMatchObject({ code: 421, close: true });
    expect(taken).toHaveLength(0);
  });

  it('ends at MAIL within five seconds of a revocation by another process', async () => {
    const { id, jwt } = await newToken();
    const session = openSession();
    await logIn(session, 'x', jwt);
    await store.revokeToken({ id, now: clock.now() });
    await clock.advance(5_001);
    expect(await session.onMail(FROM, FACTS)).toMatchObject({ code: 421, close: true });
  });

  it('ends at MAIL when its token expires, to the second', async () => {
    const { jwt } = await newToken(60);
    const session = openSession();
    await logIn(session, 'x', jwt);
    await clock.advance(59_000);
    expect(await session.onMail(FROM, FACTS)).toBeNull();
    await clock.advance(1_000);
    expect(await session.onMail(FROM, FACTS)).toMatchObject({ code: 421, close: true });
  });

  it('takes no message that was still arriving when the login ended', async () => {
    const { id, jwt } = await newToken();
    const session = openSession();
    await logIn(session, 'x', jwt);
    expect(await session.onMail(FROM, FACTS)).toBeNull();
    await access.revoke(id);
    expect(await send(session)).toMatchObject({ code: 421, close: true });
    expect(taken).toHaveLength(0);
  });

  it('ends at MAIL when its credential is removed, here or by another process', async () => {
    const { credential, password } = await newCredential();
    const here = openSession();
    const there = openSession();
    await logIn(here, credential.username, password);
    await logIn(there, credential.username, password);
    expect(await here.onMail(FROM, FACTS)).toBeNull();
    await credentials.remove({ id: credential.id });
    expect(await here.onMail(FROM, FACTS)).toMatchObject({ code: 421, close: true });

    const other = await newCredential();
    const later = openSession();
    await logIn(later, other.credential.username, other.password);
    await store.removeSmtpCredential({ id: other.credential.id });
    await clock.advance(5_001);
    expect(await later.onMail(FROM, FACTS)).toMatchObject({ code: 421, close: true });
  });

  it('does not cost its address a failed login when it ends', async () => {
    const { id, jwt } = await newToken();
    const sessions = Array.from({ length: 12 }, openSession);
    for (const session of sessions) await logIn(session, 'x', jwt);
    await access.revoke(id);
    for (const session of sessions) expect(await session.onMail(FROM, FACTS)).toMatchObject({ code: 421 });
    expect(await logIn(openSession(), 'x', (await newToken()).jwt)).toBeNull();
  });
});

it('says that it will pass where the store is away, at a login and at MAIL, and reports no bug', async () => {
  const open = openSession();
  await logIn(open, 'x', (await newToken()).jwt);
  const { credential, password } = await newCredential();
  await store.close();
  await clock.advance(5_001);
  const errors = await Promise.all(
    [open.onMail(FROM, FACTS), logIn(openSession(), credential.username, password)].map((answer) =>
      answer.then(
        () => 'no failure',
        (error: unknown) => error,
      ),
    ),
  );
  const later = { code: 451, enhanced: '4.3.2', name: 'unavailable' };
  expect(errors.map((error) => open.onFailure(error))).toMatchObject([later, later]);
});

describe('a credential', () => {
  it('shares memory and connections with what its maker made, and with its domain', async () => {
    const grant = { ...GRANT, rateShares: [{ key: 'maker', perSecond: null }] };
    for (const name of ['a', 'b']) {
      const wanted = { name, domain: 'example.com', sandbox: false, notices: true, grant };
      const { credential, password } = await credentials.create(wanted);
      const session = openSession();
      expect(session.owner?.()).toBeNull();
      await logIn(session, credential.username, password);
      expect(session.owner?.()).toEqual(['line maker', 'domain example.com']);
    }
  });
});

describe('the idempotency keys of a credential', () => {
  it('are its own, also beside another one that the same token made', async () => {
    const owners: string[] = [];
    for (const name of ['a', 'b']) {
      const { credential, password } = await newCredential(name);
      const session = openSession();
      await logIn(session, credential.username, password);
      expect(await send(session, 'order-1')).toMatchObject({ code: 250 });
      owners.push(taken.at(-1)?.caller.owner ?? '');
      expect(owners.at(-1)).toBe(credential.id);
    }
    expect(new Set(owners).size).toBe(2);
  });
});
