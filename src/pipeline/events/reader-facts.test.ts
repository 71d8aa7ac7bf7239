/** Opens, clicks and opt-outs on their way to the store: who is a program, what is bounded, what an outage does. */
import { describe, expect, it } from 'vitest';
import { createSystemRandom } from '../../lib/random.ts';
import { createVirtualClock } from '../../lib/virtual-clock.ts';
import { StoreUnavailable } from '../../store/store.ts';
import type { ReaderFact } from '../../store/topics/readers.ts';
import { machineReason } from './machine-marks.ts';
import { createReaderFacts } from './reader-facts.ts';

const READER = { ip: '192.0.2.7', userAgent: 'Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0' };

function world() {
  const clock = createVirtualClock();
  const stored: ReaderFact[] = [];
  const state = { calls: 0, down: false, dropped: 0 };
  const quiet = () => {};
  const facts = createReaderFacts({
    clock,
    random: createSystemRandom(),
    log: { info: quiet, warn: quiet, error: quiet, debug: quiet },
    metrics: {
      noted: quiet,
      dropped: (count) => {
        state.dropped += count;
      },
    },
    eventsStored: quiet,
    store: {
      async appendReaderFacts(params) {
        state.calls += 1;
        if (state.down) throw new StoreUnavailable('full');
        stored.push(...params.facts);
        return params.facts.length;
      },
      async unsubscribe() {
        state.calls += 1;
        if (state.down) throw new StoreUnavailable('full');
        return { kind: 'unsubscribed', domain: 'example.com' };
      },
    },
  });
  return { clock, facts, stored, state };
}

describe('facts', () => {
  it('are stored together, two seconds later', async () => {
    const { clock, facts, stored, state } = world();
    for (let id = 1; id <= 100; id++) facts.opened(id, READER);
    await clock.advance(1_900);
    expect(stored).toEqual([]);
    await clock.advance(600);
    expect([stored.length, state.calls]).toEqual([100, 1]);
    expect(stored.every(({ detail }) => detail?.bot === false)).toBe(true);
  });

  it('about three links of one copy at once are a program’s, the first ones too', async () => {
    const { clock, facts, stored } = world();
    facts.clicked(1, 0, 'https://a.example/', READER);
    facts.clicked(1, 1, 'https://b.example/', READER);
    facts.looked(1);
    facts.clicked(2, 0, 'https://a.example/', READER);
    facts.clicked(2, 0, 'https://a.example/', READER);
    await clock.advance(3_000);
    expect(stored.map(({ deliveryId, detail }) => [deliveryId, detail?.bot])).toEqual([
      [1, true],
      [1, true],
      [2, false],
      [2, false],
    ]);
  });

  it('wait while the store cannot write, up to a bound, and come later', async () => {
    const { clock, facts, stored, state } = world();
    state.down = true;
    for (let id = 1; id <= 10_050; id++) facts.opened(id, READER);
    expect(state.dropped).toBe(50);
    await clock.advance(5_000);
    expect(stored).toEqual([]);
    state.down = false;
    await clock.advance(3_000);
    expect(stored.length).toBe(10_000);
    expect(new Set(stored.map(({ id }) => id)).size).toBe(10_000);
  });

  it('about one copy are bounded by the hour', async () => {
    const { clock, facts, stored, state } = world();
    for (let i = 0; i < 150; i++) facts.opened(9, READER);
    await clock.advance(3_000);
    expect([stored.length, state.dropped]).toEqual([100, 50]);
  });

  it('that are held go to the store at a stop', async () => {
    const { facts, stored } = world();
    facts.opened(1, READER);
    await facts.stop(1_000);
    expect(stored).toHaveLength(1);
  });
});

describe('an opt-out', () => {
  it('at the same time is one write, and is refused for now where it cannot be stored', async () => {
    const { facts, state } = world();
    const both = [facts.unsubscribe(1, READER, 'one-click'), facts.unsubscribe(1, READER, 'one-click')];
    expect(await Promise.all(both)).toEqual(['done', 'done']);
    expect(state.calls).toBe(1);
    state.down = true;
    await expect(facts.unsubscribe(1, READER, 'one-click')).rejects.toMatchObject({ status: 503 });
  });
});

describe('the name of a program', () => {
  it.each([
    ['', true],
    ['Mozilla/5.0', true],
    ['Mozilla/5.0 (Windows NT 5.1; rv:11.0) Gecko Firefox/11.0 (via ggpht.com GoogleImageProxy)', true],
    ['curl/8.5.0', true],
    ['python-requests/2.32', true],
    ['Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)', true],
    [READER.userAgent, false],
    ['Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 Mobile/15E148', false],
    [
      'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 Version/18.5 Safari/605.1.15',
      false,
    ],
  ])('%j', (name, isMachine) => {
    expect(machineReason(name) !== null).toBe(isMachine);
  });
});
