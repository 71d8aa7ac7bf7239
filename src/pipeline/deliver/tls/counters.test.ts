/** Daily counters are stored, also after the store was unavailable, and removed after two weeks. */
import { Writable } from 'node:stream';
import { Registry } from 'prom-client';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createLoggers } from '../../../lib/log.ts';
import { createVirtualClock, type VirtualClock } from '../../../lib/virtual-clock.ts';
import { openSqliteStore } from '../../../store/sqlite/open.ts';
import { temporaryFolder } from '../../../store/sqlite/test-support.ts';
import type { Store } from '../../../store/store.ts';
import { createTlsCounters, createTlsMetrics } from './counters.ts';

const DAY = 86_400_000;
const { service: log } = createLoggers({
  destination: new Writable({ write: (_, __, done) => done() }),
  level: 'error',
  maskAddresses: false,
});
let folder: ReturnType<typeof temporaryFolder>;
let clock: VirtualClock;
let store: Store;

beforeEach(async () => {
  folder = temporaryFolder();
  clock = createVirtualClock(Date.parse('2026-05-31T12:00:00Z'));
  store = await openSqliteStore({ path: folder.file('s.db'), clock, patienceMs: 0, threads: 0 });
});
afterEach(async () => {
  await store.close();
  folder.remove();
});

const session = {
  domain: 'example.net',
  policy: 'sts',
  mxHost: 'mx.example.net',
  result: 'success',
} as const;
const create = (over: Partial<Store> = {}) =>
  createTlsCounters({
    store: { addTlsCounts: store.addTlsCounts, purgeTls: store.purgeTls, ...over },
    clock,
    log,
    metrics: createTlsMetrics(new Registry()),
  });
const all = () => store.tlsCounts({ fromDay: '2026-01-01', limit: 100 });

it('adds them up by day', async () => {
  const counters = create();
  await counters.start();
  counters.count(session);
  counters.count(session);
  counters.count({ ...session, result: 'certificate-expired' });
  await clock.advance(DAY);
  counters.count(session);
  await counters.stop(0);
  expect(await all()).toEqual([
    { ...session, day: '2026-05-31', result: 'certificate-expired', sessions: 1 },
    { ...session, day: '2026-05-31', sessions: 2 },
    { ...session, day: '2026-06-01', sessions: 1 },
  ]);
});

it('keeps what the store does not take, and offers it again', async () => {
  let isAway = true;
  const counters = create({
    addTlsCounts: (params) => (isAway ? Promise.reject(new Error('away')) : store.addTlsCounts(params)),
  });
  await counters.start();
  counters.count(session);
  await clock.advance(60_000);
  counters.count(session);
  isAway = false;
  await counters.stop(0);
  expect(await all()).toEqual([{ ...session, day: '2026-05-31', sessions: 2 }]);
});

it('forgets them after a fortnight', async () => {
  const first = create();
  first.count(session);
  await first.stop(0);
  await clock.advance(14 * DAY);
  const second = create();
  await second.stop(0);
  expect(await all()).toHaveLength(1);
  await clock.advance(DAY);
  await create().stop(0);
  expect(await all()).toHaveLength(0);
});
