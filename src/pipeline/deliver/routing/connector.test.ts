/** Which relays are passed over, and when port 25 seems blocked. */
import { createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import { createVirtualClock } from '../../../../test/fakes/virtual-clock.ts';
import { systemClock } from '../../../lib/clock.ts';
import type { Logger } from '../../../lib/log.ts';
import { createPort25Watch, probePort25 } from './port-25.ts';
import { createRelayHealth } from './relay-health.ts';

const A = { kind: 'relay', host: 'a.example', port: 25, implicitTls: false, auth: null } as const;
const B = { ...A, host: 'b.example' };
const MX = { kind: 'mx' } as const;

describe('the health of relays', () => {
  function relays() {
    const clock = createVirtualClock(1_790_000_000_000);
    return { clock, health: createRelayHealth(clock) };
  }

  it('passes a failing one over for a growing time, then asks it again in its place', async () => {
    const { clock, health } = relays();
    expect(health.order([A, B, MX])).toEqual([A, B, MX]);
    const waits: number[] = [];
    for (let i = 0; i < 8; i++) {
      health.failed('a.example:25', 'connect: refused');
      expect(health.order([A, B, MX])).toEqual([B, MX, A]);
      const [state] = health.unhealthy();
      waits.push((state?.until ?? 0) - clock.now());
      await clock.advance(waits.at(-1) ?? 0);
      expect(health.order([A, B, MX])).toEqual([A, B, MX]);
    }
    expect(waits.map((ms) => ms / 1000)).toEqual([30, 60, 120, 300, 600, 900, 900, 900]);
    health.connected('a.example:25');
    expect(health.unhealthy()).toEqual([]);
    health.failed('a.example:25', 'again');
    expect(health.unhealthy()).toMatchObject([{ relay: 'a.example:25', failures: 1, why: 'again' }]);
  });

  it('lets one opening find out about it, and another where that one never did', async () => {
    const { clock, health } = relays();
    health.failed('a.example:25', 'refused');
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

  it('believes one that refused mail only when it takes a message', async () => {
    const { clock, health } = relays();
    health.failed('a.example:25', '550 relay access denied', true);
    expect([health.passedOver('a.example:25'), health.halfOpen('a.example:25')]).toEqual([true, true]);
    await clock.advance(30_000);
    expect(health.order([A, B])).toEqual([A, B]);
    health.connected('a.example:25');
    expect(health.halfOpen('a.example:25')).toBe(true);
    expect(health.order([A, B])).toEqual([B, A]);
    health.delivered('a.example:25');
    expect([health.halfOpen('a.example:25'), health.order([A, B])]).toEqual([false, [A, B]]);
  });

  it('is asked again at once by hand, and passed over for longer if that fails', () => {
    const { clock, health } = relays();
    expect(health.tryNow('a.example:25')).toBe(false);
    health.failed('a.example:25', '535 wrong password', true);
    expect(health.order([A, B])).toEqual([B, A]);
    expect(health.tryNow('a.example:25')).toBe(true);
    expect(health.order([A, B])).toEqual([A, B]);
    health.failed('a.example:25', '535 wrong password', true);
    expect(health.unhealthy()).toMatchObject([{ failures: 2, until: clock.now() + 60_000 }]);
  });

  it('counts openings that were under egress together as one failure', async () => {
    const { health } = relays();
    for (let i = 0; i < 5; i++) health.failed('a.example:25', 'refused');
    expect(health.unhealthy()[0]?.failures).toBe(1);
  });

  it('leaves a list of failing relays in its order, and never empties one', async () => {
    const { health } = relays();
    for (const relay of ['a.example:25', 'b.example:25']) health.failed(relay, 'refused');
    expect(health.order([A, B])).toEqual([A, B]);
    expect(health.order([A])).toEqual([A]);
  });
});

describe('the watch over outgoing connections', () => {
  function watch() {
    const clock = createVirtualClock();
    const said: string[] = [];
    const note = (_fields: unknown, text: string) => void said.push(text);
    const log: Logger = { debug: note, info: note, warn: note, error: note };
    return { clock, said, watch: createPort25Watch({ clock, log }, { port: 25 }) };
  }

  it('says once that the port seems blocked, when three sites and none before answered', () => {
    const { said, watch: port } = watch();
    for (const site of ['a', 'a', 'b', 'b']) port.unanswered(site);
    expect(port.suspicion()).toBeNull();
    for (const site of ['c', 'd']) port.unanswered(site);
    expect(port.suspicion()).toMatch(
      /^outgoing port 25 seems blocked on this machine's network: .*relay.*provider/,
    );
    expect(said).toHaveLength(1);
  });

  it('does not while something answers, and takes it back when something does', async () => {
    const { clock, said, watch: port } = watch();
    port.connected();
    for (const site of ['a', 'b', 'c']) port.unanswered(site);
    expect(port.suspicion()).toBeNull();
    await clock.advance(3_600_000);
    for (const site of ['a', 'b', 'c']) port.unanswered(site);
    expect(port.suspicion()).not.toBeNull();
    port.connected();
    expect(port.suspicion()).toBeNull();
    expect(said).toHaveLength(2);
  });
});

describe('the probe of port 25', () => {
  it('finds it open where a host answers, even by refusing', async () => {
    const server = createServer((socket) => socket.destroy());
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const target = { address: '127.0.0.1', port };
    expect(await probePort25({ clock: systemClock, targets: [target] })).toMatchObject({ kind: 'open' });
    await new Promise((resolve) => server.close(resolve));
    expect(await probePort25({ clock: systemClock, targets: [target] })).toMatchObject({
      kind: 'open',
      detail: expect.stringContaining('refuses'),
    });
  });

  it('finds it blocked where none of them can be reached in time', async () => {
    const clock = createVirtualClock();
    // A port nobody opened would refuse; no time at all is left, so no answer can come.
    const asked = probePort25({ clock, targets: [{ address: '127.0.0.1', port: 9 }], timeoutMs: 0 });
    await clock.advance(1);
    expect(await asked).toMatchObject({ kind: 'blocked', detail: expect.stringContaining('port 9') });
  });

  it('contacts nobody unasked', async () => {
    expect(await probePort25({ clock: systemClock, targets: [] })).toMatchObject({ kind: 'unknown' });
  });
});
