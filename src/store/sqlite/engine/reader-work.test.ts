import { afterEach, beforeEach, expect, it } from 'vitest';
import { event, HOUR, message, recipient, T0 } from '../../conformance/fixtures.ts';
import type { Store } from '../../store.ts';
import { COMMON } from '../common.ts';
import { filledDatabase, temporaryFolder } from '../test-support.ts';
import { openReader } from './reader-work.ts';

let folder: ReturnType<typeof temporaryFolder>;
beforeEach(() => {
  folder = temporaryFolder();
});
afterEach(() => folder.remove());

it('answers others between the steps of a long read', () => {
  const path = folder.file('store.db');
  const many = Array.from({ length: 60 }, (_, i) =>
    message({
      recipients: Array.from({ length: 100 }, (_, j) => recipient({ domain: `d${i}-${j}.example` })),
    }),
  );
  const later = message({ recipients: [recipient({ events: [event('accepted', T0 + 3 * HOUR)] })] });
  const { db, session } = filledDatabase(path, [...many, later]);
  COMMON.sumEvents(session, { upTo: 1e9, limit: 1e9 });
  db.close();
  const reader = openReader({ path });
  const stats = {
    kinds: ['accepted'] as const,
    from: 0,
    to: T0 - (T0 % HOUR) + HOUR,
    intervalMs: HOUR,
    groupBy: 'recipient-domain' as const,
    includeSandbox: true,
    maxUnsummed: 1e6,
    maxCounts: 1e6,
    maxGroups: 10,
    maxCountedGroups: 100_000,
  };
  let [reply] = reader.answer({ kind: 'reads', calls: [{ name: 'stats', params: stats }] });
  let others = 0;
  while (reply?.kind === 'more') {
    const other = reader.answer({ kind: 'reads', calls: [{ name: 'lastEventSeq', params: undefined }] });
    expect(other).toEqual([{ kind: 'value', value: 6001 }]);
    others += 1;
    [reply] = reader.answer({ kind: 'go-on', read: reply.read });
  }
  expect(others).toBeGreaterThan(0);
  expect(reply).toMatchObject({
    kind: 'value',
    value: { kind: 'counted', rest: [{ at: T0 - (T0 % HOUR), kind: 'accepted', n: 5990 }] },
  });
  expect(reader.answer({ kind: 'go-on', read: 1 })).toMatchObject([{ kind: 'unavailable' }]);
  reader.close();
});

it('counts each event once that is added up between the steps of a long read', () => {
  const path = folder.file('store.db');
  const old = T0 - 100 * HOUR;
  const many = Array.from({ length: 120 }, (_, i) =>
    message({
      recipients: Array.from({ length: 100 }, (_, j) =>
        recipient({ domain: `d${i % 60}-${j}.example`, events: [event('accepted', old)] }),
      ),
    }),
  );
  const last = message({ recipients: [recipient(), recipient()] });
  const { db, session } = filledDatabase(path, [...many, last]);
  COMMON.sumEvents(session, { upTo: 6000, limit: 6000 });
  const reader = openReader({ path });
  const stats = {
    ...{ kinds: ['accepted'] as const, from: 0, to: T0 + HOUR, intervalMs: HOUR, includeSandbox: true },
    ...{
      groupBy: 'recipient-domain' as const,
      maxUnsummed: 1e6,
      maxCounts: 1e6,
      maxGroups: 1,
      maxCountedGroups: 1e5,
    },
  };
  let [reply] = reader.answer({ kind: 'reads', calls: [{ name: 'stats', params: stats }] });
  let counted = 0;
  COMMON.sumEvents(session, { upTo: 12_000, limit: 12_000 });
  while (reply?.kind === 'more') [reply] = reader.answer({ kind: 'go-on', read: reply.read });
  const value = reply?.kind === 'value' ? (reply.value as Awaited<ReturnType<Store['stats']>>) : null;
  if (value?.kind === 'counted') {
    for (const { counts } of [...value.groups, { counts: value.rest ?? [] }]) {
      for (const { n } of counts) counted += n;
    }
  }
  expect(counted).toBe(12_002);
  reader.close();
  db.close();
});
