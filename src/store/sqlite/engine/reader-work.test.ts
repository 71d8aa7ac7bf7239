import { afterEach, expect, it } from 'vitest';
import { message, recipient, T0 } from '../../conformance/fixtures.ts';
import { filledDatabase, temporaryFolder } from '../test-support.ts';
import { openReader } from './reader-work.ts';

const folder = temporaryFolder();
afterEach(() => folder.remove());

it('answers others between the steps of a long read', () => {
  const path = folder.file('store.db');
  const many = Array.from({ length: 60 }, () =>
    message({ recipients: Array.from({ length: 100 }, () => recipient({ domain: 'far.example' })) }),
  );
  filledDatabase(path, many).db.close();
  const reader = openReader({ path });
  const stats = {
    kinds: ['accepted'] as const,
    from: 0,
    to: T0 * 2,
    intervalMs: T0,
    groupBy: null,
    includeSandbox: true,
    maxEvents: 1e6,
    maxGroups: 10,
    maxCountedGroups: 100_000,
  };
  let [reply] = reader.answer({ kind: 'reads', calls: [{ name: 'stats', params: stats }] });
  let others = 0;
  while (reply?.kind === 'more') {
    const other = reader.answer({ kind: 'reads', calls: [{ name: 'lastEventSeq', params: undefined }] });
    expect(other).toEqual([{ kind: 'value', value: 6000 }]);
    others += 1;
    [reply] = reader.answer({ kind: 'go-on', read: reply.read });
  }
  expect(others).toBeGreaterThan(0);
  const counts = [{ at: T0, kind: 'accepted', n: 6000 }];
  expect(reply).toEqual({
    kind: 'value',
    value: { kind: 'counted', groups: [{ name: '', counts }], rest: null },
  });
  expect(reader.answer({ kind: 'go-on', read: 1 })).toMatchObject([{ kind: 'unavailable' }]);
  reader.close();
});
