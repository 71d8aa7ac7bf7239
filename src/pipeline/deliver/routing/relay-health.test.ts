/** Which relays are skipped, and for how long. */
import { describe, expect, it } from 'vitest';
import { createVirtualClock } from '../../../lib/virtual-clock.ts';
import { createConnectors } from './connector.ts';
import { createRelayHealth } from './relay-health.ts';

const A = { kind: 'relay', host: 'a.example', port: 25, implicitTls: false, auth: null } as const;
const B = { ...A, host: 'b.example' };
const MX = { kind: 'mx' } as const;

describe('the health of relays', () => {
  function relays() {
    const clock = createVirtualClock(1_790_000_000_000);
    return { clock, health: createRelayHealth(clock) };
  }

  it('skips a failing one for a growing time, then tries it again in its place', async () => {
    const { clock, health } = relays();
    expect(health.order([A, B, MX])).toEqual([A, B, MX]);
    const waits: number[] = [];
    for (let i = 0; i < 8; i++) {
      health.failed('a.example:25', 'connect', 'connect: refused');
      expect(health.order([A, B, MX])).toEqual([B, MX, A]);
      const [state] = health.unhealthy();
      waits.push((state?.until ?? 0) - clock.now());
      await clock.advance(waits.at(-1) ?? 0);
      expect(health.order([A, B, MX])).toEqual([A, B, MX]);
    }
    expect(waits.map((ms) => ms / 1000)).toEqual([30, 60, 120, 300, 600, 900, 900, 900]);
    health.connected('a.example:25');
    expect(health.unhealthy()).toEqual([]);
    health.failed('a.example:25', 'connect', 'again');
    expect(health.unhealthy()).toMatchObject([{ relay: 'a.example:25', failures: 1, why: 'again' }]);
  });

  it('skips one no longer where the clock is set back meanwhile, nor less long where it is set forward', async () => {
    const { clock, health } = relays();
    health.failed('a.example:25', 'connect', 'refused');
    clock.jumpWallTo(clock.now() + 3_600_000);
    expect(health.order([A, B])).toEqual([B, A]);
    clock.jumpWallTo(clock.now() - 7_200_000);
    expect(health.unhealthy()).toMatchObject([{ until: clock.now() + 30_000 }]);
    await clock.advance(30_000);
    expect([health.passedOver('a.example:25'), health.order([A, B])]).toEqual([false, [A, B]]);
  });

  it('lets one opening test it, and another where the first has no result within a minute', async () => {
    const { clock, health } = relays();
    health.failed('a.example:25', 'connect', 'refused');
    await clock.advance(30_000);
    expect(health.order([A, B])).toEqual([A, B]);
    expect(health.order([A, B])).toEqual([B, A]);
    await clock.advance(60_000);
    expect(health.order([A, B])).toEqual([A, B]);
    health.connected('a.example:25');
    expect([health.order([A, B]), health.order([A, B])]).toEqual([
      [A, B],
      [A, B],
    ]);
  });

  it('takes only an accepted message as a sign that one which refused works again', async () => {
    const { clock, health } = relays();
    health.failed('a.example:25', 'mail', '550 relay access denied');
    expect([health.passedOver('a.example:25'), health.halfOpen('a.example:25')]).toEqual([true, true]);
    await clock.advance(30_000);
    expect(health.order([A, B])).toEqual([A, B]);
    health.connected('a.example:25');
    expect(health.halfOpen('a.example:25')).toBe(true);
    expect(health.order([A, B])).toEqual([B, A]);
    health.delivered('a.example:25');
    expect([health.halfOpen('a.example:25'), health.order([A, B])]).toEqual([false, [A, B]]);
  });

  it('is tried again at once by hand, and skipped for longer if that fails', () => {
    const { clock, health } = relays();
    expect(health.tryNow('a.example:25')).toBe(false);
    health.failed('a.example:25', 'mail', '535 wrong password');
    expect(health.order([A, B])).toEqual([B, A]);
    expect(health.tryNow('a.example:25')).toBe(true);
    expect(health.order([A, B])).toEqual([A, B]);
    health.failed('a.example:25', 'mail', '535 wrong password');
    expect(health.unhealthy()).toMatchObject([{ failures: 2, until: clock.now() + 60_000 }]);
  });

  it('counts the failures of openings that ran at the same time as one', () => {
    const { health } = relays();
    for (let i = 0; i < 5; i++) health.failed('a.example:25', 'connect', 'refused');
    expect(health.unhealthy()[0]?.failures).toBe(1);
  });

  it('leaves a list of failing relays in its order, and never empties one', () => {
    const { health } = relays();
    for (const relay of ['a.example:25', 'b.example:25']) health.failed(relay, 'connect', 'refused');
    expect(health.order([A, B])).toEqual([A, B]);
    expect(health.order([A])).toEqual([A]);
  });

  it.each(['connect', 'mail'] as const)(
    'forgets a failure at %s six hours after its time, also without mail',
    async (stage) => {
      const { clock, health } = relays();
      health.failed('b.example:25', stage, 'refused');
      await clock.advance(30_000 + 6 * 3_600_000);
      // A works, so that nothing tests B.
      expect(health.order([A, B])).toEqual([A, B]);
      expect(health.unhealthy()).toMatchObject([{ failures: 1 }]);
      await clock.advance(1);
      expect([health.unhealthy(), health.hasFailed('b.example:25'), health.halfOpen('b.example:25')]).toEqual(
        [[], false, false],
      );
      health.failed('b.example:25', stage, 'refused');
      expect(health.unhealthy()).toMatchObject([{ failures: 1 }]);
    },
  );
});

it('a relay that failed gets little time where another works, and its usual time where none does', async () => {
  const clock = createVirtualClock(1_790_000_000_000);
  const relays = createRelayHealth(clock);
  const asked: string[] = [];
  const connectors = createConnectors({
    relays,
    opener: {} as never,
    port25: {} as never,
    endpoints: {
      async find(target: { kind: string; host?: string }, _domain: string, wish: { isTest?: boolean }) {
        asked.push(`${target.host ?? target.kind}${wish.isTest === true ? ' test' : ''}`);
        return { kind: 'temporary', detail: '' };
      },
    } as never,
  });
  const find = async (...targets: (typeof A | typeof B | typeof MX)[]) => {
    const source = { id: '', address: null, heloName: null } as never;
    const egress = { kind: 'smtp', source, targets, relays: '', direct: false } as const;
    await connectors.of(egress, 'site').endpoints('example.net', {});
    return asked.splice(0);
  };
  expect(await find(A, B)).toEqual(['a.example', 'b.example']);
  relays.failed('a.example:25', 'connect', 'the TLS handshake took longer than 30 s');
  expect(await find(A, B)).toEqual(['b.example', 'a.example']);
  await clock.advance(30_000);
  expect(await find(A, B)).toEqual(['a.example test', 'b.example']);
  await clock.advance(60_000);
  expect(await find(A, MX)).toEqual(['a.example test', 'mx']);
  relays.failed('b.example:25', 'connect', 'refused');
  await clock.advance(60_000);
  expect(await find(A, B)).toEqual(['a.example', 'b.example']);
  relays.connected('a.example:25');
  expect(await find(A, B)).toEqual(['a.example', 'b.example']);
});
