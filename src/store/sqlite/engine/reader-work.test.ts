import { afterEach, expect, it } from 'vitest';
import { event, HOUR, message, recipient, T0 } from '../../conformance/fixtures.ts';
import { sumEvents } from '../stats.ts';
import { filledDatabase, temporaryFolder } from '../test-support.ts';
import { openReader } from './reader-work.ts';

const folder = temporaryFolder();
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
  sumEvents(session, { upTo: 1e9, limit: 1e9 });
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
