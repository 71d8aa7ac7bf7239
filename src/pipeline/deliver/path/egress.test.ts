/** A path whose source several nodes share: what it may do in each state of its lease, and what happens when the lease is lost. */
import { describe, expect, it } from 'vitest';
import { afterInput } from '../../../lib/turns.ts';
import { createVirtualClock } from '../../../lib/virtual-clock.ts';
import type { Lease, LeaseListener, LeaseState } from '../../queue/leases.ts';
import { createEgressLeases } from '../routing/egress-leases.ts';
import { createPathEgress, NOT_KNOWN } from './egress.ts';
import { type Block, ELSEWHERE, type PathState } from './states.ts';

function world(holder: LeaseState) {
  const clock = createVirtualClock();
  const done: string[] = [];
  const links = {
    open: 2,
    all: () => links.open,
    leaveAll: () => void done.push('connections leave'),
    destroyAll: () => void done.push('connections are destroyed'),
  };
  let blocked: Block | null = null;
  const state: Pick<PathState, 'blocked' | 'elsewhere' | 'notElsewhere'> = {
    blocked: () => blocked,
    elsewhere(served) {
      blocked = { kind: 'lease', why: ELSEWHERE, reason: ELSEWHERE, until: null };
      done.push(served ? 'sent elsewhere' : 'nobody sends');
    },
    notElsewhere() {
      blocked = null;
      done.push('sent here or nobody knows');
    },
  };
  let listener: LeaseListener | null = null;
  let now = holder;
  const egress = createPathEgress(
    { clock, links, state, notes: { waits: (kind, _, why) => void done.push(`waits for ${kind}: ${why}`) } },
    (wanted) => {
      listener = wanted;
      return { state: () => now, end: () => void done.push('ended') };
    },
    {
      lost: () => void done.push('openings end'),
      elsewhere: () => void done.push('relays are forgotten'),
      changed: () => void done.push('looked at again'),
    },
  );
  return {
    clock,
    done,
    links,
    egress,
    change(to: LeaseState, graceMs = 0) {
      now = to;
      listener?.changed(to, graceMs);
    },
  };
}

describe('a path of a shared source', () => {
  it('lets its mail wait where it is until it is known who sends', () => {
    const { egress, done } = world('asking');
    expect(egress.may()).toBe(false);
    expect(done).toEqual([`waits for lease: ${NOT_KNOWN}`]);
  });

  it('leaves its mail to the node that sends, once', () => {
    const { egress, done } = world('elsewhere');
    expect([egress.may(), egress.may()]).toEqual([false, false]);
    expect(done.filter((what) => what === 'sent elsewhere')).toHaveLength(1);
  });

  it('forgets what it knows of relays when another node sends, and is not sure while its lease has lapsed', () => {
    const { egress, done, change } = world('held');
    change('elsewhere');
    expect(done.splice(0)).toContain('relays are forgotten');
    change('asking');
    egress.may();
    expect(done).toEqual([
      'sent here or nobody knows',
      ...['openings end', 'connections leave', 'looked at again', `waits for lease: ${NOT_KNOWN}`],
    ]);
  });

  it('says so where the node that sends is not running', () => {
    const { egress, done } = world('absent');
    egress.may();
    expect(done).toContain('nobody sends');
  });

  it('goes on when it gets the lease', async () => {
    const { egress, done, change } = world('elsewhere');
    egress.may();
    change('held');
    expect(egress.may()).toBe(true);
    expect(done.slice(-2)).toEqual(['sent here or nobody knows', 'looked at again']);
  });

  it('begins nothing when it loses the lease, and has no connection left when the grace is over', async () => {
    const { egress, done, change, clock } = world('held');
    expect(egress.may()).toBe(true);
    change('asking', 3_000);
    expect(egress.may()).toBe(false);
    await clock.advance(2_999);
    expect(done).toEqual([
      'sent here or nobody knows',
      ...['openings end', 'connections leave', 'looked at again', `waits for lease: ${NOT_KNOWN}`],
    ]);
    await clock.advance(1);
    await new Promise<void>(afterInput);
    expect(done.at(-1)).toBe('connections are destroyed');
  });

  it('keeps the connections where the lease was back in time', async () => {
    const { done, change, clock } = world('held');
    change('asking', 3_000);
    change('held');
    await clock.advance(10_000);
    expect(done).not.toContain('connections are destroyed');
  });

  it('stops when its last connection is closed, not before', async () => {
    const { egress, links } = world('held');
    let cleared = false;
    const waiting = egress.cleared().then(() => {
      cleared = true;
    });
    links.open = 1;
    egress.linkEnded();
    await Promise.resolve();
    expect(cleared).toBe(false);
    links.open = 0;
    egress.linkEnded();
    await waiting;
    expect(cleared).toBe(true);
  });
});

describe('leases on sources', () => {
  const names: string[] = [];
  const lease: Lease = { state: () => 'held', end() {} };
  let serves = true;
  const leases = createEgressLeases(
    {
      want(name) {
        names.push(name);
        return lease;
      },
      serves: () => serves,
      held: () => ['send nat>big'],
    },
    [
      { id: 'nat', shared: true },
      { id: 'own', shared: false },
      { id: 'of-another', shared: false },
    ],
    new Set(['of-another']),
  );
  const want = (source: string, site: string, provider: string | null) =>
    leases.want({ source, site, provider }, { changed() {} });

  it('are asked for where a source says that it is shared, or none is configured', () => {
    expect([want('nat', 'a', null), want('', 'a', null), want('own', 'a', null)]).toEqual([
      lease,
      lease,
      null,
    ]);
    expect(names.splice(0)).toEqual(['send nat>a', 'send >a']);
  });

  it('say which budgets of new sources other nodes use', () => {
    const isOfOthers = leases.ofOthers();
    expect(isOfOthers('nat', 'big')).toBe(false);
    expect(isOfOthers('nat', 'other')).toBe(true);
    expect(isOfOthers('own', 'big')).toBe(false);
    expect(isOfOthers('of-another', 'big')).toBe(true);
  });

  it('of a source that is bound to another node are elsewhere, and nobody is asked', () => {
    expect(want('of-another', 'a', null)?.state()).toBe('elsewhere');
    serves = false;
    expect(want('of-another', 'a', null)?.state()).toBe('absent');
    expect(names).toEqual([]);
  });

  it('are one for all sites of a provider, whose limits are limits too', () => {
    want('nat', 'mx1.big.example', 'big');
    want('nat', 'mx2.big.example', 'big');
    expect(new Set(names.splice(0))).toEqual(new Set(['send nat>big']));
  });
});
