/** The recipients that the returns port takes in one transaction, over a real store and a real spool. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Registry } from 'prom-client';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { silentLogger } from '../../lib/log.ts';
import { createSystemRandom } from '../../lib/random.ts';
import { createVirtualClock, type VirtualClock } from '../../lib/virtual-clock.ts';
import { parseAddress } from '../../mail/address.ts';
import { createReturnPathTokens } from '../../mail/verp.ts';
import { createReturnMetrics } from '../../pipeline/events/returns-metrics.ts';
import type { MailFrom, RcptTo } from '../../smtp/server-types.ts';
import { commit, message, only, recipient, T0 } from '../../store/conformance/fixtures.ts';
import { openSqliteStore } from '../../store/sqlite/open.ts';
import type { Store } from '../../store/store.ts';
import { createReturnsHandler } from './returns-handler.ts';
import { openSpool, type Spool } from './spool.ts';

const tokens = createReturnPathTokens([{ id: 1, secret: new Uint8Array(32).fill(5) }]);
let folder: string;
let clock: VirtualClock;
let store: Store;
let spool: Spool;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'postrider-returns-'));
  clock = createVirtualClock(T0);
  store = await openSqliteStore({ path: join(folder, 'store.db'), clock, patienceMs: 0, threads: 0 });
  spool = await openSpool(folder, clock);
});
afterEach(async () => {
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});

const address = (text: string): RcptTo => {
  const parsed = parseAddress(text);
  if (!parsed.ok) throw new Error(`no address: ${text}`);
  return { address: parsed.address, notify: [], orcpt: null };
};

it('recipients of one transaction are copies of one message only: a report can name a thousand recipients of each', async () => {
  const [one, two] = (
    await commit(store, [message({ recipients: [recipient()] }), message({ recipients: [recipient()] })])
  ).map(({ seq, deliveries }) => ({
    copies: address(`${tokens.make('g', seq)}@bounces.example.com`),
    delivery: address(`${tokens.make('b', deliveries[0]?.id ?? 0)}@bounces.example.com`),
  }));
  if (one === undefined || two === undefined) throw new Error('not stored');
  const handler = createReturnsHandler(
    {
      store,
      tokens,
      spool,
      clock,
      random: createSystemRandom(),
      log: silentLogger,
      metrics: createReturnMetrics(new Registry()),
      isOwnDomain: async () => true,
      arrived() {},
    },
    { ip: '192.0.2.1' },
  );
  const from: MailFrom = {
    address: null,
    size: null,
    smtpUtf8: false,
    ret: null,
    envid: null,
  };
  const facts = { helo: 'mx', esmtp: true, secured: false, authenticated: false };
  const recipients: RcptTo[] = [];
  const codes: number[] = [];
  for (const to of [one.copies, one.copies, two.copies, one.delivery, two.delivery]) {
    const answer = await handler.onRcpt(to, { from, recipients }, facts);
    if (answer === null) recipients.push(to);
    codes.push(answer?.code ?? 250);
  }
  expect(codes).toEqual([250, 250, 452, 250, 250]);
  const received = { bytes: Buffer.from('Subject: x\r\n\r\nx\r\n'), eightBit: false };
  expect(await handler.onMessage({ from, recipients }, received, facts)).toMatchObject({ code: 250 });
  const kept = await spool.read(only(spool.waiting()));
  expect(kept?.targets.map(({ kind }) => kind)).toEqual(['message', 'delivery', 'delivery']);
});
