/** What blocks a path, what ends that, and who is told. */
import { describe, expect, it } from 'vitest';
import { createVirtualClock } from '../../../lib/virtual-clock.ts';
import type { PathState as Remembered, RememberedPath } from '../../../policy/limits/shaping/path-memory.ts';
import type { Override } from '../../../policy/limits/shaping/types.ts';
import { createPathStates } from './states.ts';

const T0 = 1_790_000_000_000;
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

function world(remembered: Partial<RememberedPath>[] = []) {
  const clock = createVirtualClock(T0);
  const kept: Remembered[] = [];
  const overrides: Override[] = [];
  const inForce = () => overrides.filter(({ until }) => until > clock.now());
  const known = remembered.map((one) => ({
    ...{ source: '', site: 'a.example', blockedUntil: null, reason: '', failures: 0, concurrency: 3 },
    ...{ day: 0, sent: 0, sentBefore: 0, updatedAt: T0, asked: true, fingerprint: '' },
    ...one,
  }));
  const told: string[] = [];
  const states = createPathStates({
    clock,
    memory: {
      recall(source, site) {
        const found = known.find((one) => one.source === source && one.site === site);
        if (found === undefined) return null;
        return {
          ...found,
          blockedUntil: (found.blockedUntil ?? 0) > clock.now() ? found.blockedUntil : null,
        };
      },
      remember: (state) => void kept.push(state),
      blocked: () => known.filter(({ blockedUntil }) => blockedUntil !== null),
    },
    overrides: {
      list: inForce,
      suspended: (_, key) => inForce().find((one) => one.key === key && one.param === 'suspended') ?? null,
    },
  });
  states.onChange((name) => void told.push(`${name} ${states.blocked(name)?.kind ?? 'free'}`));
  const path = states.of('', 'a.example');
  path.attach(() => ({ concurrency: 7, day: 0, sent: 1, sentBefore: 0 }));
  const suspend = (until: number, rule = 'Y01'): Override => {
    const override: Override = {
      ...{ id: rule, scope: 'path', key: '>a.example', param: 'suspended', value: 'yes', until, rule },
      ...{ why: 'it said so', createdAt: T0 },
    };
    overrides.push(override);
    states.overrideChanged(override, false);
    return override;
  };
  return { clock, states, path, told, kept, overrides, suspend };
}

describe('the state of a path', () => {
  it('is blocked, lets one message find out, and is free when that was taken', async () => {
    const { clock, states, path, told, kept } = world();
    path.trip(T0 + 30_000, { reason: 'refused', cause: 'unreachable', asked: false });
    expect(states.blocked('>a.example')).toEqual({
      ...{ kind: 'breaker', until: T0 + 30_000, why: 'refused', reason: 'path: refused' },
    });
    expect(path.breaker()).toEqual({ kind: 'open', until: T0 + 30_000, failures: 1 });
    await clock.advance(29_999);
    expect(path.blocked()).not.toBeNull();
    await clock.advance(1);
    expect([path.blocked(), path.breaker()]).toEqual([null, { kind: 'half-open', failures: 1 }]);
    path.trip(T0 + 90_000, { reason: 'refused', cause: 'unreachable', asked: false });
    expect(path.failures()).toBe(2);
    await clock.advance(MINUTE);
    expect(path.succeeded()).toBe(true);
    expect(path.breaker()).toEqual({ kind: 'closed' });
    expect(told).toEqual([
      ...['>a.example breaker', '>a.example free', '>a.example breaker', '>a.example free'],
    ]);
    expect(kept.at(-1)).toMatchObject({ failures: 0, concurrency: 7, sent: 1, blockedUntil: null });
  });

  it('stays blocked when something that was under way is taken meanwhile', () => {
    const { path } = world();
    path.trip(T0 + HOUR, { reason: 'refused', cause: 'rate_limited', asked: false });
    expect(path.succeeded()).toBe(false);
    expect(path.breaker()).toEqual({ kind: 'open', until: T0 + HOUR, failures: 1 });
  });

  it('is asked again a minute after it failed where critical mail waits, as the same failure', async () => {
    const { clock, states, path } = world();
    path.trip(T0 + HOUR, { reason: 'refused', cause: 'unreachable', asked: false });
    await clock.advance(10_000);
    states.urgent('>a.example');
    expect(path.breaker()).toEqual({ kind: 'open', until: T0 + MINUTE, failures: 1 });
    await clock.advance(50_000);
    expect(path.breaker().kind).toBe('half-open');
  });

  it('is free when it is tried by hand, and is blocked for longer if that fails', () => {
    const { states, path, told } = world();
    path.trip(T0 + HOUR, { reason: 'refused', cause: 'relay_login_failed', asked: false });
    expect([states.tryNow('>a.example'), states.tryNow('>a.example')]).toEqual([true, false]);
    expect(path.breaker()).toEqual({ kind: 'half-open', failures: 1 });
    path.trip(T0 + HOUR, { reason: 'refused', cause: 'relay_login_failed', asked: false });
    expect(path.failures()).toBe(2);
    expect(told).toEqual(['>a.example breaker', '>a.example free', '>a.example breaker']);
  });

  it('opens within a minute where the clock was set beyond the end of a suspension', async () => {
    const { clock, path, suspend } = world();
    suspend(T0 + HOUR);
    clock.jumpWallTo(T0 + 2 * HOUR);
    await clock.advance(MINUTE);
    expect(path.blocked()).toBeNull();
  });

  it('lies behind a suspension, which ends by itself or by hand', async () => {
    const { clock, states, path, overrides, suspend } = world();
    suspend(T0 + HOUR);
    expect(path.blocked()).toMatchObject({
      ...{ kind: 'suspended', until: T0 + HOUR, reason: 'path: a.example is suspended: it said so' },
    });
    await clock.advance(HOUR);
    expect(path.blocked()).toBeNull();
    const second = suspend(clock.now() + HOUR, 'Y02');
    path.trip(clock.now() + HOUR, { reason: 'refused', cause: 'ip_blocklisted', asked: false });
    expect(path.blocked()?.kind).toBe('suspended');
    overrides.pop();
    // What the same reply brought about ends with it.
    states.overrideChanged(second, true);
    expect([path.blocked(), path.breaker().kind]).toEqual([null, 'half-open']);
  });

  it('is free with a limit that is taken back by hand, where the same reply blocked it, and with no other', () => {
    const { states, path } = world();
    path.trip(T0 + HOUR, { reason: 'too fast', cause: 'rate_limited', asked: false });
    const limit = { scope: 'path', key: '>a.example', param: 'messagesPerSecond' } as const;
    states.overrideChanged({ ...limit, rule: 'connection_limited' }, true);
    expect(path.blocked()).not.toBeNull();
    states.overrideChanged({ ...limit, rule: 'rate_limited' }, true);
    expect(path.blocked()).toBeNull();
  });

  it('waits while another node sends, and is looked at again after a minute', async () => {
    const { clock, path, told } = world();
    path.elsewhere(true);
    expect(path.blocked()).toMatchObject({ kind: 'lease', until: null });
    path.notElsewhere();
    expect(path.blocked()).toBeNull();
    path.elsewhere(true);
    await clock.advance(MINUTE);
    expect(path.blocked()).toBeNull();
    expect(told).toHaveLength(4);
  });

  it('says that another node sends where it failed before, and tests with one message when it sends again', () => {
    const { clock, path } = world();
    path.trip(clock.now() + HOUR, { reason: 'refused', cause: 'unreachable', asked: false });
    path.elsewhere(true);
    expect(path.blocked()).toMatchObject({ kind: 'lease', until: null });
    path.notElsewhere();
    expect([path.blocked(), path.breaker()]).toEqual([null, { kind: 'half-open', failures: 1 }]);
  });

  it('says that the only node that may send is not running', () => {
    const { path } = world();
    path.elsewhere(false);
    expect(path.blocked()).toMatchObject({ kind: 'no-node', why: expect.stringContaining('is not running') });
  });

  it('blocks sites that nothing was sent to since the start: those that are remembered, and suspended ones', async () => {
    const { clock, states, suspend } = world([
      { site: 'b.example', blockedUntil: T0 + MINUTE, failures: 3, reason: 'path: refused' },
    ]);
    expect(states.blocked('>b.example')).toMatchObject({ until: T0 + MINUTE, why: 'refused' });
    suspend(T0 + HOUR);
    expect(states.list().map(({ site }) => site)).toEqual(['b.example', 'a.example']);
    await clock.advance(MINUTE);
    expect(states.blocked('>b.example')).toBeNull();
    expect(states.of('', 'b.example').breaker()).toEqual({ kind: 'half-open', failures: 3 });
  });

  it('forgets what was learned by another login or address', () => {
    const { states, told } = world([
      { site: 'relay:r:25', blockedUntil: T0 + HOUR, failures: 3, fingerprint: 'old' },
      { site: 'relay:s:25', blockedUntil: T0 + HOUR, failures: 3, fingerprint: 'same' },
    ]);
    const outdated: string[] = [];
    states.onOutdated((name) => void outdated.push(name));
    expect(states.of('', 'relay:r:25', 'new').breaker()).toEqual({ kind: 'closed' });
    expect(states.of('', 'relay:s:25', 'same').blocked()).not.toBeNull();
    expect([outdated, told]).toEqual([['>relay:r:25'], ['>relay:r:25 free']]);
  });

  it('says of a failure by another login what it says of any', () => {
    const { states } = world([
      { site: 'relay:r:25', blockedUntil: T0 + HOUR, failures: 3, fingerprint: 'old' },
    ]);
    const path = states.of('', 'relay:r:25', 'new');
    path.attach(() => ({ concurrency: 1, day: 0, sent: 0, sentBefore: 0 }));
    path.trip(T0 + MINUTE, { reason: 'refused', cause: 'unreachable', asked: false });
    expect(states.blocked('>relay:r:25')).toMatchObject({ until: T0 + MINUTE, why: 'refused' });
    expect(states.tryNow('>relay:r:25')).toBe(true);
  });

  it('outlives whoever sends by it', async () => {
    const { clock, states, path, told } = world();
    path.trip(T0 + MINUTE, { reason: 'refused', cause: 'unreachable', asked: false });
    path.detach();
    const again = states.of('', 'a.example');
    again.attach(() => ({ concurrency: 1, day: 0, sent: 0, sentBefore: 0 }));
    again.trip(T0 + HOUR, { reason: 'refused', cause: 'unreachable', asked: false });
    await clock.advance(MINUTE);
    // The first failure's timer is gone with it.
    expect([again.blocked()?.until, again.failures(), told]).toEqual([T0 + HOUR, 2, ['>a.example breaker']]);
  });

  it('goes by time that passes, not by a wall clock that is set', async () => {
    const { clock, path } = world();
    path.trip(T0 + MINUTE, { reason: 'refused', cause: 'unreachable', asked: false });
    clock.jumpWallTo(T0 - 24 * HOUR);
    await clock.advance(MINUTE);
    expect(path.blocked()).toBeNull();
  });
});
