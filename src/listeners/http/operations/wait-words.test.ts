/** When waiting mail is tried next, as it is shown. */
import { describe, expect, it } from 'vitest';
import type { Hold } from '../../../policy/limits/holds.ts';
import { nextTryAt, queueReasons } from './wait-words.ts';

const MAIL = {
  senderDomain: 'a.example',
  recipientDomain: 'b.example',
  lane: 'normal',
  routeKey: '',
} as const;
const FREE = { heldBy: () => null, pausedBy: () => null, blockedFor: () => null };
const closedUntil = (until: number | null) => ({
  ...FREE,
  blockedFor: () => ({ path: '>b.example', reason: 'path: x', until }),
});
const heldUntil = (until: number | null) => ({ ...FREE, heldBy: () => ({ until }) as Hold });

describe('the next try', () => {
  it('is not before what keeps it back ends, and never before its own time', () => {
    expect(nextTryAt(1_000, MAIL, closedUntil(5_000), 0)).toBe(5_000);
    expect(nextTryAt(9_000, MAIL, closedUntil(5_000), 0)).toBe(9_000);
    expect(nextTryAt(1_000, MAIL, heldUntil(5_000), 0)).toBe(5_000);
    const paused = { ...FREE, pausedBy: () => ({ reason: 'x', until: 7_000 }) };
    expect(nextTryAt(1_000, MAIL, paused, 0)).toBe(7_000);
  });

  it('is its own time where nothing is in its way, or nobody knows when the path opens', () => {
    expect(nextTryAt(1_000, MAIL, FREE, 0)).toBe(1_000);
    expect(nextTryAt(1_000, MAIL, closedUntil(null), 0)).toBe(1_000);
  });

  it('is never past, and unknown where a person ends what keeps it back', () => {
    expect(nextTryAt(1_000, MAIL, FREE, 2_000)).toBe(2_000);
    expect(nextTryAt(1_000, MAIL, heldUntil(null), 2_000)).toBeNull();
  });
});

describe('the reasons of a queue', () => {
  it('quote a reply, and of a verdict of this server only its sentence', () => {
    const queue = (reply: string) =>
      ({ ...MAIL, sandbox: false, reasons: [{ reason: 'deferred', count: 2, reply }] }) as never;
    const replyOf = (reply: string) => queueReasons(queue(reply), FREE)[0]?.reply;
    expect(replyOf('451 4.7.1 Greylisted')).toBe('451 4.7.1 Greylisted');
    expect(replyOf('0 5.1.2 the domain b.example does not exist')).toBe(
      'the domain b.example does not exist',
    );
  });
});
