import { describe, expect, it } from 'vitest';
import type { Domain, DomainStatus } from '../../model/domain.ts';
import { maySend, nextStatus } from './domain-status.ts';

const HOUR = 3_600_000;
const T0 = 1_790_000_000_000;
const BAD = { verified: false, temporary: false };

type Facts = Pick<Domain, 'status' | 'verifiedBy' | 'failingSince'>;
const facts = (status: DomainStatus, more: Partial<Facts> = {}): Facts => ({
  status,
  verifiedBy: 'dns',
  failingSince: null,
  ...more,
});

describe('a sender domain whose records vanish', () => {
  it('goes on sending for two days from the first check that failed, and no longer', () => {
    const first = nextStatus(facts('Verified'), BAD, T0);
    expect(first).toEqual({ status: 'Failing', verifiedBy: 'dns', failingSince: T0 });
    const later = nextStatus(first, BAD, T0 + 47 * HOUR);
    expect(later.failingSince).toBe(T0);
    expect(maySend(later, T0 + 48 * HOUR - 1)).toBe(true);
    expect(maySend(later, T0 + 48 * HOUR)).toBe(false);
  });

  it('gets no longer grace from a check that failed while the clock was ahead', () => {
    const ahead = nextStatus(facts('Verified'), BAD, T0 + 9_000 * HOUR);
    expect(nextStatus(ahead, BAD, T0).failingSince).toBe(T0);
  });

  it('begins a new grace after it was whole again', () => {
    const whole = nextStatus(
      facts('Failing', { failingSince: T0 }),
      { verified: true, temporary: false },
      T0,
    );
    expect(whole).toEqual({ status: 'Verified', verifiedBy: 'dns', failingSince: null });
    expect(nextStatus(whole, BAD, T0 + 90 * HOUR).failingSince).toBe(T0 + 90 * HOUR);
  });

  it('loses nothing by a DNS that does not answer, nor against the operator’s word', () => {
    const silent = { verified: false, temporary: true };
    expect(nextStatus(facts('Verified'), silent, T0)).toEqual(facts('Verified'));
    const vouched = facts('Verified', { verifiedBy: 'operator' });
    expect(nextStatus(vouched, BAD, T0)).toEqual(vouched);
  });
});

describe('a sender domain that may not send', () => {
  it('is pending or suspended, and no check ends a suspension', () => {
    expect(maySend(facts('Pending'), T0)).toBe(false);
    expect(maySend(facts('Suspended'), T0)).toBe(false);
    expect(nextStatus(facts('Suspended'), { verified: true, temporary: false }, T0)).toEqual(
      facts('Suspended'),
    );
    expect(nextStatus(facts('Pending', { verifiedBy: null }), BAD, T0).status).toBe('Pending');
  });
});
