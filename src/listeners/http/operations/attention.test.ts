/** What needs attention, gathered over a real store; the tests supply the findings of delivery and the server. */
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { uuidv7 } from '../../../lib/ids.ts';
import type { DomainCheck } from '../../../policy/domains/doctor/check.ts';
import { createManualClock } from '../../../store/sqlite/test-support.ts';
import type { ServerProblem } from '../deps.ts';
import { codesOf, MAIL, openWorld, type World } from '../test-world.ts';
import { gatherAttention } from './attention-items.ts';
import { pathSnapshot } from './test-paths.ts';

const HOUR = 3_600_000;
const clock = createManualClock();
const problems: ServerProblem[] = [];
const relays = [
  { relay: 'mail.example.net:587', failures: 3, at: 'auth' as const, why: '535 no', until: clock.now() },
];
const warmups = [
  {
    source: 'new',
    provider: 'google',
    level: 1,
    budget: 50,
    used: 50,
    deferredToday: 0,
    blockedToday: 0,
    lastUsedAt: null,
  },
  {
    source: 'new',
    provider: 'yahoo',
    level: 1,
    budget: 50,
    used: 4,
    deferredToday: 0,
    blockedToday: 0,
    lastUsedAt: null,
  },
];
const check = (id: string, severity: DomainCheck['severity']): DomainCheck => ({
  ...{ id, severity, message: `About ${id}.`, fix: `Mend ${id}.` },
  record: { type: 'HOST', name: id, expected: '', found: [] },
});
let checks: DomainCheck[] = [];
let world: World;
let admin: string;
beforeAll(async () => {
  world = await openWorld({
    clock,
    parts: {
      problems: async () => problems,
      warmup: { list: () => warmups },
      doctor: {
        instance: async () => [],
        sendingAddresses: async () => [],
        lastInstance: async () => ({ at: clock.now(), checks }),
      },
    },
  });
  world.relays.push(...relays);
  // As the administrator's token of a data folder is.
  admin = await world.at.token({ domains: ['*'], scopes: ['admin'], expiresInSeconds: null });
});
afterAll(() => world.close());
beforeEach(() => {
  problems.length = 0;
  world.paths.length = 0;
  checks = [];
});

interface Answer {
  Items: { Kind: string; Severity: string; Subject: string; Message: string; [member: string]: unknown }[];
  Waiting: Record<string, number>;
  ExaminedAt: string | null;
}
const attention = async (token = admin) => {
  // A token may ask 5 times a second.
  clock.advance(1_000);
  return (await world.call('GET', '/attention', { token })).json() as unknown as Answer;
};
const of = async (kind: string, token?: string) =>
  (await attention(token)).Items.filter(({ Kind }) => Kind === kind);

/** null: it is verified again. */
async function fail(name: string, failingSince: number | null) {
  const domain = await world.store.getDomain({ name });
  await world.store.setDomainStatus({
    ...{ name, verifyToken: domain?.verifyToken ?? '', status: 'Failing', verifiedBy: 'dns', failingSince },
    ...{
      checks: JSON.stringify([{ ...check('dkim1', 'fail'), blocks: true }]),
      now: clock.now(),
      events: [],
    },
  });
}

it('tells operators of relays that fail and warm-ups that are used up', async () => {
  expect((await attention()).Items).toMatchObject([
    {
      Kind: 'relay',
      Severity: 'Failing',
      Subject: 'mail.example.net:587',
      Fix: expect.stringContaining('Correct its user name and password (key `route`)'),
      Command: expect.stringContaining('queue try'),
    },
    { Kind: 'warm-up', Severity: 'Warning', Subject: 'new google' },
  ]);
  expect((await attention(world.tokens.own)).Items).toEqual([]);
});

it('tells of domains that fail, with the mail that waits, to who has the domain', async () => {
  await world.sendMail();
  await fail('example.com', clock.now() - HOUR);
  expect(await of('domain')).toMatchObject([
    {
      ...{ Severity: 'Warning', Subject: 'example.com', Waiting: 2 },
      Fix: 'Mend dkim1. Its records are shown with the domain.',
      Action: { Method: 'POST', Path: '/domains/example.com/verify' },
    },
  ]);
  const since = clock.now() - 49 * HOUR;
  await fail('example.com', since);
  const [held] = await of('domain', world.tokens.own);
  expect(held).toMatchObject({
    Severity: 'Failing',
    Since: new Date(since).toISOString(),
  });
  expect(held?.Message).toContain('Its mail is held');
  expect(await of('domain', world.tokens.other)).toEqual([]);
  const narrow = await world.at.token({
    domains: ['example.com'],
    scopes: ['stats:read'],
    expiresInSeconds: 8e7,
  });
  expect((await attention(narrow)).Items).toEqual([]);
  expect(codesOf(await world.call('GET', '/attention', { token: world.tokens.narrow }))).toEqual([34]);
  await fail('example.com', null);
});

it('counts what waits by priority, for the domains of the token', async () => {
  expect((await attention()).Waiting).toEqual({ critical: 0, normal: 2, bulk: 0 });
  expect((await attention(world.tokens.own)).Waiting).toEqual({ critical: 0, normal: 2, bulk: 0 });
  expect((await attention(world.tokens.other)).Waiting).toEqual({ critical: 0, normal: 0, bulk: 0 });
});

it('tells of a site that takes no mail while some waits for it, since it closed', async () => {
  world.paths.push(
    pathSnapshot(world, { domains: ['example.net'] }),
    pathSnapshot(world, { key: '>quiet', site: 'quiet', domains: ['quiet.example'] }),
    pathSnapshot(world, {
      key: '>fine',
      site: 'fine',
      domains: ['example.org'],
      breaker: { kind: 'closed' },
    }),
  );
  const change = { source: '', site: 'google', until: null, reason: null };
  await world.store.addPathChanges({
    changes: [
      { ...change, at: 10, reason: 'before' },
      { ...change, at: 20 },
      { ...change, at: 30, reason: 'busy' },
      { ...change, at: 40, reason: 'busy still' },
    ],
  });
  expect(await of('site')).toMatchObject([
    {
      ...{ Subject: 'google', Waiting: 1, Since: new Date(30).toISOString() },
      ...{ Message: 'Path: 421 4.7.28 too much mail.', Action: { Path: '/queue/paths/google/try' } },
    },
  ]);
  expect(await of('site', world.tokens.own)).toEqual([]);
  const site = (await world.call('GET', '/queue/paths/google', { token: world.tokens.admin })).json();
  expect(site.History).toEqual([]);
});

it('tells of no site whose DNS gives no answer where it gives none of any domain', async () => {
  const closed = { provider: null, domains: ['example.net'], withoutDns: true };
  world.paths.push(pathSnapshot(world, { ...closed, key: '>mx.example.net', site: 'mx.example.net' }));
  expect(await of('site')).toMatchObject([{ Subject: 'mx.example.net' }]);
  problems.push({ name: 'resolver', ok: true, detail: 'the DNS gives no usable answer for any domain' });
  expect(await of('site')).toEqual([]);
  expect(await of('server')).toMatchObject([{ Subject: 'resolver', Severity: 'Failing' }]);
});

it('tells of one dead domain with little mail as a warning, of a provider as a failure', async () => {
  const closed = { provider: null, domains: ['example.net'] };
  world.paths.push(pathSnapshot(world, { ...closed, key: '>mx.example.net', site: 'mx.example.net' }));
  expect(await of('site')).toMatchObject([{ Severity: 'Warning', Subject: 'mx.example.net', Waiting: 1 }]);
  world.paths.splice(0, 1, pathSnapshot(world, { domains: ['example.net'] }));
  expect(await of('site')).toMatchObject([{ Severity: 'Failing', Subject: 'google', Waiting: 1 }]);
});

it('tells of a relay once, with what each part knows of it', async () => {
  const relay = 'mail.example.net:587';
  world.paths.push(pathSnapshot(world, { site: `relay:${relay}`, provider: null, domains: ['example.net'] }));
  checks = [check(`relay ${relay}`, 'fail')];
  const { Items } = await attention();
  expect(Items.filter(({ Message, Subject }) => `${Message} ${Subject}`.includes(relay))).toMatchObject([
    {
      Kind: 'relay',
      Severity: 'Failing',
      Subject: relay,
      Waiting: 1,
      Message: expect.stringContaining('failed 3 times: 535 no'),
    },
  ]);
});

it('tells the worst that is known of a relay', async () => {
  const relay = 'other.example.net:25';
  // Closed since before the start: it is not known what waits.
  world.paths.push(pathSnapshot(world, { site: `relay:${relay}`, provider: null, domains: [] }));
  const told = async () => (await of('relay')).find(({ Subject }) => Subject === relay);
  expect(await told()).toMatchObject({ Severity: 'Warning' });
  checks = [check(`relay ${relay}`, 'fail')];
  expect(await told()).toMatchObject({ Severity: 'Failing', Fix: `Mend relay ${relay}.` });
});

it('tells that nothing can be sent while no domain is verified', async () => {
  const one = await openWorld({ clock });
  const status = async (name: string, to: 'Pending' | 'Verified') => {
    const domain = await one.store.getDomain({ name });
    await one.store.setDomainStatus({
      ...{ name, verifyToken: domain?.verifyToken ?? '', status: to, verifiedBy: null },
      ...{ failingSince: null, checks: null, now: clock.now(), events: [] },
    });
  };
  const told = async (token: string) => {
    clock.advance(1_000);
    const { Items } = (await one.call('GET', '/attention', { token })).json() as unknown as Answer;
    return Items.filter(({ Kind }) => Kind === 'domain').map(({ Severity, Subject }) => [Severity, Subject]);
  };
  await status('example.com', 'Pending');
  expect(await told(one.tokens.own)).toEqual([['Warning', 'example.com']]);
  await status('other.example', 'Pending');
  expect(await told(one.tokens.admin)).toContainEqual(['Warning', 'other.example']);
  await status('example.com', 'Verified');
  expect(await told(one.tokens.own)).toEqual([]);
  await one.close();
});

it('tells of holds, and of those that guard-rails made to the domain too', async () => {
  const match = { senderDomain: 'example.com', recipientDomain: null, site: null, lane: null };
  const byHand = await world.holds.add({
    ...match,
    reason: 'wrong price',
    until: null,
    createdBy: 'somebody',
  });
  const guard = await world.holds.add({
    ...match,
    lane: 'bulk',
    reason: 'too many',
    until: null,
    createdBy: 'guard-rails',
  });
  expect(await of('hold')).toMatchObject([
    {
      ...{ Subject: byHand.id, Waiting: 2, Message: 'Mail from example.com is held: wrong price.' },
      Action: { Method: 'POST', Path: '/queue/release', Body: { HoldID: byHand.id } },
    },
  ]);
  expect(await of('guard-rail', world.tokens.own)).toMatchObject([{ Subject: guard.id, Action: null }]);
  expect(await of('hold', world.tokens.own)).toEqual([]);
  expect(await of('guard-rail', world.tokens.other)).toEqual([]);
  await world.holds.release([byHand.id, guard.id]);
});

it('answers a token twenty times after a pause, then five times a second', async () => {
  clock.advance(4_000);
  const asked: number[] = [];
  for (let n = 0; n < 21; n += 1)
    asked.push((await world.call('GET', '/attention', { token: world.tokens.own })).status);
  expect(asked).toEqual([...Array(20).fill(200), 429]);
  expect((await world.call('GET', '/attention', { token: admin })).status).toBe(200);
});

it('asks about mail in memory of the token’s domains only', async () => {
  const wanted: (readonly boolean[])[] = [];
  world.inMemory.queues = (isWanted) => {
    wanted.push(
      ['example.com', 'other.example'].map((senderDomain) =>
        isWanted({ senderDomain, recipientDomain: 'example.net' }),
      ),
    );
    return [];
  };
  await attention(world.tokens.own);
  await attention();
  world.inMemory.queues = () => [];
  expect(wanted).toEqual([
    [true, false],
    [true, true],
  ]);
});

it('counts the mail of the holds that it shows, and of no others', async () => {
  const read = new Set<string>();
  const holds = Array.from({ length: 100 }, (_, i) => ({
    ...{ id: `h${i}`, senderDomain: null, site: null, lane: null },
    ...{ reason: 'all', until: null, createdBy: 'somebody', createdAt: 0 },
    get recipientDomain() {
      read.add(`h${i}`);
      return null;
    },
  }));
  const { store } = world;
  const answer = await gatherAttention(
    {
      ...{ store, clock, problems: async () => [], warmup: { list: () => [] }, guard: { warned: () => [] } },
      ...{ doctor: { lastInstance: async () => null }, leadsOut: () => true, nodes: () => 1 },
      traffic: {
        ...{ paths: () => [], pathOf: () => null, relays: () => [] },
        holds: { ...world.holds, list: () => holds },
        waits: world.inMemory,
      },
    },
    { mayDomains: true, mayWebhooks: true, isOperator: true },
  );
  const shown = answer.Items.filter(({ Kind }) => Kind === 'hold');
  expect([shown.length, answer.More]).toEqual([20, true]);
  // One more than shown, to know that there are more.
  expect(read.size).toBe(21);
});

it('tells the operator how far events are counted after an upgrade', async () => {
  const { countSummed } = world.store;
  const counted = async (summed: number, token?: string) => {
    Object.assign(world.store, { countSummed: async () => ({ summed, events: 12_000_000 }) });
    return (await of('server', token)).map(({ Severity, Message }) => [Severity, Message]);
  };
  const message = 'Events are still being counted after an upgrade: 3.2 of 12.0 million so far.';
  expect(await counted(3_200_000)).toEqual([['Warning', message]]);
  expect(await counted(3_200_000, world.tokens.own)).toEqual([]);
  expect(await counted(11_900_000)).toEqual([]);
  Object.assign(world.store, { countSummed });
});

it('tells of the server itself, but not of what may stay as it is', async () => {
  problems.push(
    { name: 'store', ok: true, detail: '' },
    { name: 'acceptance', ok: false, detail: 'the disk is nearly full (3.0 % free)' },
  );
  checks = [check('clock', 'warn'), check('operator', 'warn'), check('port25', 'fail'), check('data', 'ok')];
  // Told already, as the reason why nothing is accepted.
  checks.push(check('disk', 'fail'));
  expect((await of('server')).map(({ Severity, Subject }) => [Severity, Subject])).toEqual([
    ['Failing', 'acceptance'],
    ['Failing', 'port25'],
    ['Warning', 'clock'],
  ]);
  expect((await attention(world.tokens.own)).ExaminedAt).toBeNull();
});

it('tells once of a disk on which nothing can be stored, and of the log there', async () => {
  const detail = 'the disk is full (database or disk is full)';
  problems.push(
    { name: 'store', ok: false, detail },
    { name: 'acceptance', ok: false, detail },
    { name: 'log', ok: true, detail: 'the log cannot be written: the disk is full' },
  );
  checks = [check('disk', 'fail')];
  expect((await of('server')).map(({ Severity, Subject }) => [Severity, Subject])).toEqual([
    ['Failing', 'store'],
    ['Warning', 'log'],
  ]);
  // Before all that fails for a part of the mail, however much of it waits.
  await fail('example.com', clock.now() - 49 * HOUR);
  const failing = (await attention()).Items.filter(({ Severity }) => Severity === 'Failing');
  expect(failing.map(({ Subject }) => Subject).slice(0, 2)).toEqual(['store', 'example.com']);
  await fail('example.com', null);
});

it('tells of webhooks that fail again or for a minute, or were switched off, to who may read them', async () => {
  const id = (
    await world.call('POST', '/webhooks', {
      body: { Event: 'delivery', WebhookURL: 'http://127.0.0.1:9/hook' },
    })
  ).json().NewWebhookID as number;
  await world.sendMail({ ...MAIL, CC: [] });
  await world.settle((await world.claimAll()).get('bob@example.net') ?? 0, 'delivered', 'delivered');
  const [call] = await world.store.claimCalls({
    epoch: world.epoch,
    now: clock.now(),
    limit: 1,
    excludeWebhooks: [],
  });
  const settle = (more: object) =>
    world.store.settleCalls({
      settlements: [
        {
          ...{
            callId: call?.id ?? 0,
            epoch: world.epoch,
            webhookId: id,
            state: 'pending',
            dueAt: clock.now(),
          },
          ...{
            tryNumber: 1,
            at: clock.now(),
            responseCode: 500,
            responseBody: '',
            error: '',
            latencyMs: 1,
            blocked: false,
          },
          ...more,
        },
      ],
    });
  await settle({});
  clock.advance(50_000);
  expect(await of('webhook')).toEqual([]);
  clock.advance(10_000);
  expect(await of('webhook', world.tokens.own)).toMatchObject([
    { Severity: 'Warning', Subject: String(id), Waiting: 1, Action: { Path: `/webhooks/${id}/test` } },
  ]);
  await world.store.claimCalls({ epoch: world.epoch, now: clock.now(), limit: 1, excludeWebhooks: [] });
  const answered = { responseCode: 404, responseBody: '{"hint":"The workflow\n must be active"}' };
  await settle({ tryNumber: 2, state: 'pending', ...answered });
  const said = async () => (await of('webhook', world.tokens.own))[0]?.Message;
  expect(await said()).toContain('Last answer: HTTP status 404, “{"hint":"The workflow must be active"}”.');
  await world.store.claimCalls({ epoch: world.epoch, now: clock.now(), limit: 1, excludeWebhooks: [] });
  await settle({ tryNumber: 3, state: 'succeeded', responseCode: 204 });
  expect(await of('webhook', world.tokens.own)).toEqual([]);
  const replay = { webhookId: id, since: 0, until: clock.now() + 1, onlyFailed: false, limit: 10 };
  await world.store.replayCalls({ ...replay, now: clock.now() });
  await world.store.claimCalls({ epoch: world.epoch, now: clock.now(), limit: 1, excludeWebhooks: [] });
  // The second try is made after five seconds: a receiver that restarts takes it.
  await settle({ tryNumber: 2, responseCode: 301, responseBody: '<html>' });
  expect(await said()).toContain(
    '301: a redirect, which is not followed; give the webhook the URL that it leads to.',
  );
  const [again] = await world.store.claimCalls({
    ...{ epoch: world.epoch, now: clock.now(), limit: 1, excludeWebhooks: [] },
  });
  const told = { id: uuidv7(clock, world.random), kind: 'webhook.disabled', at: clock.now() } as const;
  const event = { ...told, detail: null, domain: 'example.com', deliveryId: null };
  await settle({ callId: again?.id ?? 0, tryNumber: 3, state: 'failed', disable: { reason: 'Gone', event } });
  expect(await of('webhook', world.tokens.own)).toMatchObject([
    { Severity: 'Failing', Action: { Method: 'PATCH', Body: { Status: 'Enabled' } } },
  ]);
  await world.store.updateWebhook({ id, now: clock.now(), status: 'Enabled', resumeSince: 0 });
  expect(await of('webhook', world.tokens.own)).toEqual([]);
});
