import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cpuMsOf } from '../../../test/fakes/thread-cpu.ts';
import { HOUR, message, newId, recipient, T0 } from '../conformance/fixtures.ts';
import type { Connection } from './engine/connection.ts';
import type { Session } from './engine/session.ts';
import { claimDue, dueQueues } from './queue.ts';
import { filledDatabase, temporaryFolder } from './test-support.ts';

const ROWS = 200_000;
const PER_MESSAGE = 200;
const BYTES = 200_000;

/** A path that may send one a minute, and has 200,000 rows due. */
describe('a queue that is deep', () => {
  const folder = temporaryFolder();
  let db: Connection;
  let session: Session;

  beforeAll(() => {
    const content = new Uint8Array(10_000).fill(65);
    const messages = Array.from({ length: ROWS / PER_MESSAGE }, (_, i) => {
      const due = { domain: 'slow.example', dueAt: T0 + i, events: [] };
      return message({ recipients: Array.from({ length: PER_MESSAGE }, () => recipient(due)), content });
    });
    ({ db, session } = filledDatabase(folder.file('store.db'), messages));
  });

  afterAll(() => {
    db.close();
    folder.remove();
  });

  it('is claimed from in a few milliseconds, and gives no more than is asked for', () => {
    const queues = dueQueues(db, { dueBefore: T0 + HOUR, limit: 10 });
    expect(queues).toHaveLength(1);
    const took: number[] = [];
    const seen = new Set<number>();
    for (let n = 0; n < 50; n++) {
      // As the store does it: many operations in one transaction. Syncing that to the disk is not the claim's.
      db.exec('BEGIN');
      let claimed: ReturnType<typeof claimDue> = [];
      const ms = cpuMsOf(() => {
        claimed = claimDue(session, {
          queueId: queues[0]?.queueId ?? 0,
          epoch: 1,
          now: T0 + HOUR / 2,
          limit: 100,
          maxBytes: BYTES,
          eventId: newId(),
        });
      });
      took.push(ms);
      db.exec('COMMIT');
      // Bounded by octets here, not by rows.
      expect(claimed.length).toBeGreaterThan(0);
      expect(claimed.length).toBeLessThanOrEqual(BYTES / 10_000);
      for (const { id } of claimed) seen.add(id);
    }
    expect(seen.size).toBeGreaterThanOrEqual(50);
    // The middle one, below a tenth of what reading the whole queue takes.
    expect(took.sort((a, b) => a - b)[25]).toBeLessThan(10);
  });
});
