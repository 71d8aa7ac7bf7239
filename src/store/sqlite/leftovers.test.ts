import { afterEach, expect, it } from 'vitest';
import { event, message, recipient, T0 } from '../conformance/fixtures.ts';
import { STEP_BYTES } from '../shared/operations/removal.ts';
import { COMMON } from './common.ts';
import { settle } from './settling.ts';
import { filledDatabase, temporaryFolder } from './test-support.ts';

const folder = temporaryFolder();
afterEach(() => folder.remove());

it('a commit that has removed as many octets as it may leaves further contents to a later step', () => {
  const sent = message({ keepContent: false, recipients: [recipient({ state: 'sending', events: [] })] });
  const { db, session } = filledDatabase(folder.file('store.db'), [sent, { ...sent, id: message().id }]);
  const kept = () => db.get<{ n: number }>('SELECT count(*) AS n FROM content')?.n;
  const end = (deliveryId: number) =>
    settle(session, {
      now: T0,
      settlements: [
        { deliveryId, epoch: 1, state: 'delivered', countAttempt: true, events: [event('delivered')] },
      ],
    });
  expect(end(1)).toEqual(['settled']);
  expect(kept()).toBe(1);
  session.dropped = STEP_BYTES;
  expect(end(2)).toEqual(['settled']);
  expect(kept()).toBe(1);
  expect(COMMON.purgeLeftovers(session, { limit: 10 })).toBe(false);
  expect(kept()).toBe(0);
  db.close();
});
