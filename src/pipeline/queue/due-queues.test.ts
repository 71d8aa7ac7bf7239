/** What is due, remembered: in rotation, at the right site, woken once, and cheap while nothing can go. */
import { describe, expect, it } from 'vitest';
import { createDueQueues, type QueueRef } from './due-queues.ts';

const any = () => true;

function ref(queueId: number, more: Partial<QueueRef> = {}): QueueRef {
  return {
    queueId,
    lane: 'normal',
    senderDomain: 'example.com',
    recipientDomain: `d${queueId}.test`,
    sandbox: false,
    ...more,
  };
}

describe('queues that are due', () => {
  it('reach their site when their time comes, and not before', () => {
    const due = createDueQueues(() => 'site');
    due.note(ref(1), 1_000, 0);
    due.note(ref(2), 0, 0);
    expect([...due.advance(0)]).toEqual(['site']);
    expect(due.count('site')).toBe(1);
    expect(due.nextAt()).toBe(1_000);
    expect([...due.advance(999)]).toEqual([]);
    expect([...due.advance(1_000)]).toEqual(['site']);
    expect(due.count('site')).toBe(2);
    expect(due.nextAt()).toBeNull();
  });

  it('are claimed from in rotation', () => {
    const due = createDueQueues(() => 'site');
    for (const id of [1, 2, 3]) due.note(ref(id), 0, 0);
    due.advance(0);
    const order = Array.from({ length: 6 }, () => due.next('site', any, any)?.queueId);
    expect(order.slice(3)).toEqual(order.slice(0, 3));
    expect(order.slice(0, 3).sort()).toEqual([1, 2, 3]);
    expect(due.next('site', any, (queue) => queue.queueId === 3)?.queueId).toBe(3);
    expect(due.next('elsewhere', any, any)).toBeNull();
  });

  it('leave when a claim found nothing more, unless more was revision of them meanwhile', () => {
    const due = createDueQueues(() => 'site');
    due.note(ref(1), 0, 0);
    due.advance(0);
    const queue = due.next('site', any, any);
    if (queue === null) throw new Error('one is due');
    const { revision } = queue;
    due.note(ref(1), 0, 0);
    due.exhausted(queue, revision);
    expect(due.count('site')).toBe(1);
    due.exhausted(queue, queue.revision);
    expect(due.count('site')).toBe(0);
    expect(due.has(ref(1))).toBe(false);
  });

  it('keep every later instant that was noted of them', () => {
    const due = createDueQueues(() => 'site');
    for (const at of [5_000, 100, 3_000, 100]) due.note(ref(1), at, 0);
    const seen: number[] = [];
    for (let at = due.nextAt(); at !== null; at = due.nextAt()) {
      seen.push(at);
      due.advance(at);
      const queue = due.next('site', any, any);
      if (queue !== null) due.exhausted(queue, queue.revision);
    }
    expect(seen).toEqual([100, 3_000, 5_000]);
  });

  it('tell fresh mail of the same queue that others wait before it', () => {
    const due = createDueQueues(() => 'site');
    due.note(ref(1), 0, 0);
    due.advance(0);
    expect(due.has(ref(1))).toBe(true);
    expect(due.has(ref(1, { lane: 'critical' }))).toBe(false);
    expect(due.has(ref(1, { senderDomain: 'other.example' }))).toBe(false);
    expect(due.has(ref(1, { sandbox: true }))).toBe(false);
    expect(due.hasCritical('site')).toBe(false);
    due.note(ref(2, { lane: 'critical' }), 0, 0);
    due.advance(0);
    expect(due.hasCritical('site')).toBe(true);
  });

  it('follow their recipients’ domain to another site', () => {
    let site = 'unknown';
    const due = createDueQueues(() => site);
    due.note(ref(1), 0, 0);
    due.advance(0);
    site = 'provider';
    expect([...due.regroup('unknown')]).toEqual(['provider']);
    expect([due.count('unknown'), due.count('provider')]).toEqual([0, 1]);
    const moved = due.next('provider', any, any);
    site = 'relay';
    expect(moved === null ? null : due.move(moved)).toBe('relay');
    expect([due.count('provider'), due.count('relay')]).toEqual([0, 1]);
  });

  it('cost a bounded memory: of more queues and instants than that only the earliest are kept', () => {
    const due = createDueQueues(() => 'site', 3);
    for (let id = 1; id <= 10; id++) due.note(ref(id), 0, 0);
    due.advance(0);
    expect(due.count('site')).toBe(3);
    for (let n = 1; n <= 1_000; n++) due.note(ref(1), n * 1_000, 0);
    let instants = 0;
    for (let at = due.nextAt(); at !== null; at = due.nextAt()) {
      instants += 1;
      due.advance(at);
    }
    expect(instants).toBe(32);
  });

  it('come back at once when they were revision of at their site and something later waits as well', () => {
    const due = createDueQueues(() => 'site');
    due.note(ref(1), 1_800_000, 0);
    due.note(ref(1), 0, 0);
    due.advance(0);
    due.note(ref(1), 0, 0);
    const queue = due.next('site', any, any);
    if (queue === null) throw new Error('one is due');
    due.exhausted(queue, queue.revision);
    expect(due.count('site')).toBe(0);
    due.note(ref(1), 10, 10);
    expect([...due.advance(10)]).toEqual(['site']);
    expect(due.count('site')).toBe(1);
  });
});
