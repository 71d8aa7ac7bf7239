/**
 * Alerts of the operator from the facts of `GET /attention`, over a real store and a real acceptance; the tests supply the
 * findings of delivery and the doctor. The clock stands still until a test moves it.
 */
import { Registry } from 'prom-client';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type Logger, silentLogger } from '../../../lib/log.ts';
import { createAlertMailer } from '../../../pipeline/alerts/alert-mail.ts';
import { createAlertMetrics } from '../../../pipeline/alerts/alert-metrics.ts';
import {
  type Alerts,
  BEGINS_AFTER_MS,
  createAlerts,
  ENDS_AFTER_MS,
} from '../../../pipeline/alerts/alerts.ts';
import type { DomainCheck } from '../../../policy/domains/doctor/check.ts';
import { everyEvent } from '../../../store/conformance/fixtures.ts';
import { createManualClock } from '../../../store/sqlite/test-support.ts';
import { StoreUnavailable } from '../../../store/store.ts';
import type { ServerProblem } from '../deps.ts';
import { codesOf, openWorld, type World } from '../test-world.ts';
import { gatherProblems } from './attention-problems.ts';
import { pathSnapshot } from './test-paths.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const RELAY = 'mail.example.net:587';
let clock: ReturnType<typeof createManualClock>;
let world: World;
let alerts: Alerts;
let problems: ServerProblem[];
let checks: DomainCheck[] | null;
let lines: string[];
let fields: object[];
let nodes: number;

const log: Logger = {
  ...silentLogger,
  error(about: object, text: string) {
    fields.push(about);
    lines.push(text);
  },
  info: (_fields: object, text: string) => void lines.push(text),
};
const check = (id: string, severity: DomainCheck['severity']): DomainCheck => ({
  ...{ id, severity, message: `About ${id}.`, fix: `Mend ${id}.` },
  record: { type: 'HOST', name: id, expected: '', found: [] },
});

beforeEach(async () => {
  clock = createManualClock();
  world = await openWorld({ clock });
  [problems, checks, lines, fields, nodes] = [[], [], [], [], 1];
  alerts = process();
});
afterEach(() => world.close());

/** One process, with its own memory; `more` replaces parts of it. */
function process(more: Partial<Parameters<typeof createAlerts>[0]> = {}, registry = new Registry()): Alerts {
  const { store, random, acceptance, domains, epoch } = world;
  const traffic = {
    paths: () =>
      world.paths.map((shown) => ({
        ...{ ...shown, blocked: shown.breaker.kind === 'open', elsewhere: false, snapshot: () => shown },
      })),
    pathOf: ({ recipientDomain }: { recipientDomain: string }) =>
      world.paths.find(({ domains }) => domains.includes(recipientDomain))?.key ?? null,
    ...{ relays: () => world.relays, holds: world.holds, waits: world.inMemory },
  };
  const facts = {
    ...{ store, clock, traffic, problems: async () => problems },
    ...{ warmup: { list: () => [] }, guard: { warned: () => [] } },
    leadsOut: () => true,
    nodes: () => nodes,
    doctor: { lastInstance: async () => (checks === null ? null : { at: clock.now(), checks }) },
  };
  return createAlerts(
    {
      ...{ store, clock, random, log, node: { epoch }, eventsStored() {} },
      problems: () => gatherProblems(facts),
      metrics: createAlertMetrics(registry),
      mailer: createAlertMailer(
        { store, acceptance, senders: domains, clock, log },
        { operatorAddress: 'ops@operator.example', ownDomains: ['mail.example.com'] },
      ),
      ...more,
    },
    { hostname: 'mail.example.com' },
  );
}

/** Time goes by, with a look every minute. */
async function pass(ms: number, who = alerts): Promise<void> {
  for (let left = ms; left > 0; left -= MINUTE) {
    await who.look();
    clock.advance(Math.min(MINUTE, left));
  }
  await who.look();
}

/** What was told to webhooks: kind, subject, and how long it lasted once it is over. */
async function told(): Promise<string[]> {
  const { events } = await world.store.findEvents(everyEvent({ kinds: ['operator.alert'] }));
  return events.map(({ detail, domain }) => {
    const { kind, subject, since, endedAt } = detail?.alert ?? {
      kind: '',
      subject: '',
      since: 0,
      endedAt: 0,
    };
    const state = endedAt === null ? 'began' : `over after ${(endedAt - since) / MINUTE} min`;
    return `${domain} ${kind} ${subject} ${state}`;
  });
}

/** The subjects of the mails to the operator, oldest first. */
async function mails(): Promise<string[]> {
  const { json } = await world.call('GET', '/email?Tag=alert', { token: world.tokens.admin });
  return (json().Items as { Subject: string }[]).map(({ Subject }) => Subject).reverse();
}

const hold = (lane: 'bulk' | null, createdBy: string) =>
  world.holds.add({
    ...{ senderDomain: 'example.com', recipientDomain: null, site: null, lane },
    ...{ reason: 'too many', until: null, createdBy },
  });
async function domainStatus(status: 'Failing' | 'Verified'): Promise<void> {
  const name = 'other.example';
  const verifyToken = (await world.store.getDomain({ name }))?.verifyToken ?? '';
  await world.store.setDomainStatus({
    ...{ name, verifyToken, status, verifiedBy: 'dns', checks: '[]', events: [] },
    ...{ failingSince: status === 'Failing' ? clock.now() : null, now: clock.now() },
  });
}
const relayFails = () =>
  world.relays.push({ relay: RELAY, failures: 3, at: 'auth', why: '535 no', until: clock.now() });
const brokenStore = { name: 'store', ok: false, detail: 'the disk is full' };

const KINDS: readonly [what: string, begin: () => unknown, end: () => unknown, told: string][] = [
  ['a relay that refuses', relayFails, () => world.relays.splice(0), `relay ${RELAY}`],
  [
    'a relay whose path is closed',
    async () => {
      await world.sendMail();
      world.paths.push(pathSnapshot(world, { site: `relay:${RELAY}` }));
    },
    () => world.paths.splice(0),
    `relay ${RELAY}`,
  ],
  [
    'a relay that the doctor cannot reach',
    () => checks?.push(check(`relay ${RELAY}`, 'fail')),
    () => checks?.splice(0),
    `relay ${RELAY}`,
  ],
  [
    'a domain that fails',
    () => domainStatus('Failing'),
    () => domainStatus('Verified'),
    'domain other.example',
  ],
  [
    'a block list',
    () => checks?.push(check('dnsbl 192.0.2.1', 'fail')),
    () => checks?.splice(0),
    'server dnsbl 192.0.2.1',
  ],
  ['the disk', () => checks?.push(check('disk', 'warn')), () => checks?.splice(0), 'server disk'],
  [
    'a certificate near its end',
    () => checks?.push(check('returns', 'warn')),
    () => checks?.splice(0),
    'server returns',
  ],
  ['the clock', () => checks?.push(check('clock', 'warn')), () => checks?.splice(0), 'server clock'],
  ['the store', () => problems.push(brokenStore), () => problems.splice(0), 'server store'],
];

it.each(KINDS)(
  'tells of %s once when it begins, and once when it is over',
  async (_what, begin, end, name) => {
    await pass(MINUTE);
    await begin();
    await pass(BEGINS_AFTER_MS + 3 * HOUR);
    const began = `* ${name} began`;
    expect([await told(), (await mails()).length]).toEqual([[began], 1]);
    await end();
    await pass(ENDS_AFTER_MS + HOUR);
    expect(await told()).toEqual([
      began,
      `* ${name} over after ${(BEGINS_AFTER_MS + 3 * HOUR) / MINUTE} min`,
    ]);
    const [first, second, ...others] = await mails();
    expect(first).toMatch(/^\[mail\.example\.com\] /);
    expect([second, others]).toEqual([first?.replace('] ', '] Over: '), []]);
    expect(lines.map((line) => line.split(':')[0])).toEqual(['alert', 'an alert is over']);
  },
);

it('tells of a guard-rail that holds mail, and not of a hold by hand', async () => {
  await hold(null, 'somebody');
  const { id } = await hold('bulk', 'guard-rails');
  await pass(BEGINS_AFTER_MS);
  expect(await told()).toEqual([`* guard-rail ${id} began`]);
  await world.holds.release([id]);
  await pass(ENDS_AFTER_MS);
  expect(await told()).toHaveLength(2);
});

it('counts how long a relay fails from what was stored before this start, and calls that the least', async () => {
  const before = clock.now() - 26 * HOUR;
  const closed = { source: '', site: `relay:${RELAY}`, at: before, until: null, reason: '535 no' };
  await world.store.addPathChanges({ changes: [closed] });
  relayFails();
  const texts: string[] = [];
  const { listAlerts, changeAlerts } = world.store;
  const store: Pick<World['store'], 'listAlerts' | 'changeAlerts'> = {
    listAlerts,
    changeAlerts(params) {
      texts.push(params.mail?.text ?? '');
      return changeAlerts(params);
    },
  };
  alerts = process({ store });
  await pass(BEGINS_AFTER_MS);
  world.relays.length = 0;
  await pass(ENDS_AFTER_MS);
  expect((await told())[1]).toBe(`* relay ${RELAY} over after ${26 * 60 + BEGINS_AFTER_MS / MINUTE} min`);
  expect(texts).toEqual([
    expect.stringContaining(`\nSince at least: ${new Date(before).toISOString()}\n`),
    expect.stringContaining(', after at least 1 d 2 h: '),
  ]);
});

it('tells of a relay that fails at another node, and not of what an earlier run of this one has stored', async () => {
  const [now, site] = [clock.now(), `relay:${RELAY}`];
  const failing = {
    ...{ key: `>${site}`, source: '', site, blockedUntil: now + HOUR, reason: '530 log in', asked: false },
    ...{ fingerprint: '', failures: 3, concurrency: 1, day: 0, sent: 0, sentBefore: 0, updatedAt: now },
  };
  await world.store.putPathStates({ states: [{ ...failing, epoch: world.epoch }] });
  await pass(BEGINS_AFTER_MS);
  expect(await told()).toEqual([]);
  nodes = 2;
  await pass(BEGINS_AFTER_MS);
  expect(await told()).toEqual([`* relay ${RELAY} began`]);
  // The other node got mail through.
  const healed = { ...failing, blockedUntil: null, reason: '', failures: 0, updatedAt: clock.now() };
  await world.store.putPathStates({ states: [{ ...healed, epoch: world.epoch }] });
  await pass(ENDS_AFTER_MS);
  expect(await told()).toHaveLength(2);
});

it('tells of a node that was lost until it runs again or a day has passed, and not of one that stopped', async () => {
  const { store } = world;
  const about = { pid: 7, version: '1.2.3', roles: [], sources: [], settings: {} };
  const start = (nodeId: string) =>
    store.beginEpoch({ nodeId, now: clock.now(), about: { ...about, host: `host of ${nodeId}` } });
  for (const nodeId of ['two', 'three', 'four']) {
    const epoch = await start(nodeId);
    await store.endEpoch({ epoch, now: clock.now(), ...(nodeId === 'four' ? {} : { beat: 0 }) });
  }
  await pass(BEGINS_AFTER_MS);
  expect((await told()).toSorted()).toEqual(['* server node three began', '* server node two began']);
  await start('two');
  await pass(ENDS_AFTER_MS);
  expect((await told()).slice(2)).toEqual([expect.stringMatching(/^\* server node two over/)]);
  await pass(24 * HOUR);
  expect((await told()).slice(3)).toEqual([expect.stringMatching(/^\* server node three over/)]);
});

it('tells of one relay once, however many parts know of it, and of what comes together in one mail', async () => {
  relayFails();
  checks?.push(check(`relay ${RELAY}`, 'fail'), check('clock', 'fail'));
  await pass(BEGINS_AFTER_MS);
  expect((await told()).toSorted()).toEqual([`* relay ${RELAY} began`, '* server clock began']);
  expect(await mails()).toEqual([expect.stringMatching(/ \(and 1 more\)$/)]);
});

it('does not tell of what does not last, nor that it is over when it comes and goes', async () => {
  relayFails();
  await pass(BEGINS_AFTER_MS - 1);
  world.relays.length = 0;
  await pass(HOUR);
  expect(await told()).toEqual([]);
  for (let n = 0; n < 5; n += 1) {
    relayFails();
    await pass(BEGINS_AFTER_MS);
    world.relays.length = 0;
    await pass(ENDS_AFTER_MS - MINUTE);
  }
  expect(await told()).toEqual([`* relay ${RELAY} began`]);
});

it('tells nothing again after a restart, and that it is over only when that is known', async () => {
  checks?.push(check('clock', 'fail'));
  await pass(BEGINS_AFTER_MS);
  const registry = new Registry();
  checks = null;
  alerts = process({}, registry);
  await pass(HOUR);
  expect(await told()).toEqual(['* server clock began']);
  expect(await registry.metrics()).toContain('postrider_alerts_open{kind="server"} 1');
  checks = [];
  await pass(ENDS_AFTER_MS);
  expect(await told()).toHaveLength(2);
});

it('sends one mail where it crashes between accepting it and noting that', async () => {
  relayFails();
  const { store, acceptance, domains } = world;
  const crashes = createAlertMailer(
    {
      ...{ acceptance, senders: domains, clock, log },
      store: {
        listAlertMails: store.listAlertMails,
        removeAlertMail: () => Promise.reject(new Error('crash')),
      },
    },
    { operatorAddress: 'ops@operator.example', ownDomains: ['mail.example.com'] },
  );
  const first = process({ mailer: crashes });
  await expect(pass(BEGINS_AFTER_MS, first)).rejects.toThrow('crash');
  expect(await mails()).toHaveLength(1);
  await pass(MINUTE);
  expect([(await mails()).length, await told()]).toEqual([1, [`* relay ${RELAY} began`]]);
  expect(await store.listAlertMails({ limit: 1 })).toEqual([]);
});

it('stores what it tells together, so that a crash before tells it later', async () => {
  relayFails();
  const store = { ...world.store, changeAlerts: () => Promise.reject(new Error('crash')) };
  await expect(pass(BEGINS_AFTER_MS, process({ store }))).rejects.toThrow('crash');
  expect([await told(), await mails()]).toEqual([[], []]);
  await pass(BEGINS_AFTER_MS);
  expect([(await told()).length, (await mails()).length]).toEqual([1, 1]);
});

it('tells once with two processes of which each believes to be the only one', async () => {
  relayFails();
  const other = process();
  await alerts.look();
  await other.look();
  clock.advance(BEGINS_AFTER_MS);
  await Promise.all([alerts.look(), other.look()]);
  expect([(await told()).length, (await mails()).length]).toEqual([1, 1]);
  world.relays.length = 0;
  await other.look();
  await alerts.look();
  clock.advance(ENDS_AFTER_MS);
  await Promise.all([alerts.look(), other.look()]);
  expect([(await told()).length, (await mails()).length]).toEqual([2, 2]);
});

it('has a line of the log while the store cannot be written, and tells the rest later', async () => {
  problems.push(brokenStore);
  let isBroken = true;
  const store = {
    listAlerts: world.store.listAlerts,
    changeAlerts: (given: Parameters<typeof world.store.changeAlerts>[0]) =>
      isBroken ? Promise.reject(new StoreUnavailable('full')) : world.store.changeAlerts(given),
  };
  alerts = process({ store });
  await expect(pass(BEGINS_AFTER_MS)).rejects.toThrow(StoreUnavailable);
  await expect(alerts.look()).rejects.toThrow(StoreUnavailable);
  expect(lines).toEqual(['alert: The disk is full.']);
  expect(fields).toEqual([expect.objectContaining({ since: expect.stringMatching(/^2\S+T\S+Z$/) })]);
  problems.length = 0;
  await expect(alerts.look()).rejects.toThrow(StoreUnavailable);
  isBroken = false;
  await pass(ENDS_AFTER_MS + MINUTE);
  expect(await told()).toEqual(['* server store began', expect.stringContaining('server store over')]);
});

it('never calls the webhook of a sender domain, and lets only operators have one for alerts', async () => {
  const add = (token: string, body: object) =>
    world.call('POST', '/webhooks', { token, body: { WebhookURL: 'http://127.0.0.1:9/hook', ...body } });
  const { own, admin } = world.tokens;
  expect((await add(own, { Event: 'all' })).status).toBe(200);
  expect(codesOf(await add(own, { Event: 'operator' }))).toEqual([1902]);
  expect((await add(own, { Event: 'operator', Domain: '*' })).status).toBe(404);
  expect(codesOf(await add(admin, { Event: 'operator', Domain: 'example.com' }))).toEqual([1902]);
  expect(codesOf(await add(admin, { Event: 'bounce', Domain: '*' }))).toEqual([1902]);
  const made = await add(admin, { Event: 'operator', Domain: '*' });
  const id = made.json().NewWebhookID as number;
  expect((await world.call('GET', `/webhooks/${id}`)).status).toBe(404);
  const change = { token: admin, body: { Event: 'delivery' } };
  expect(codesOf(await world.call('PATCH', `/webhooks/${id}`, change))).toEqual([1902]);
  relayFails();
  await pass(BEGINS_AFTER_MS);
  const { epoch } = world;
  const calls = await world.store.claimCalls({ epoch, now: clock.now(), limit: 9, excludeWebhooks: [] });
  const told = calls.filter(({ event }) => event.kind === 'operator.alert');
  expect(told.map(({ webhook }) => webhook.id)).toEqual([id]);
  const seen = (await world.call('GET', '/events')).json().Events as { Event: string }[];
  expect(seen.filter(({ Event }) => Event === 'operator.alert')).toEqual([]);
});
