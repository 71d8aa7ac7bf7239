import { describe, expect, it } from 'vitest';
import { createVirtualClock } from '../../../lib/virtual-clock.ts';
import { createTriedHosts, untriedFirst } from './tried-hosts.ts';

const [A, B, C] = ['192.0.2.1', '192.0.2.2', '192.0.2.3'].map((address) => ({ address, port: 25 })) as [
  { address: string; port: number },
  { address: string; port: number },
  { address: string; port: number },
];

describe('the addresses of a path', () => {
  it('are tried in their order, those that failed last, until a connection opens', () => {
    const tried = createTriedHosts(createVirtualClock());
    expect(untriedFirst([A, B, C], tried)).toEqual([A, B, C]);
    tried.failed(A);
    tried.failed(C);
    expect(untriedFirst([A, B, C], tried)).toEqual([B, A, C]);
    tried.clear();
    expect(untriedFirst([A, B, C], tried)).toEqual([A, B, C]);
  });

  it('are told apart by their port', () => {
    const tried = createTriedHosts(createVirtualClock());
    tried.failed(A);
    expect(tried.has({ ...A, port: 587 })).toBe(false);
  });

  it('that are silent or lose messages come last for ten minutes, also after a connection opened', async () => {
    const clock = createVirtualClock();
    const tried = createTriedHosts(clock);
    tried.offered([A, B]);
    expect(tried.avoid(A)).toBe(true);
    tried.clear();
    expect(untriedFirst([A, B], tried)).toEqual([B, A]);
    await clock.advance(10 * 60_000 - 1);
    expect(tried.has(A)).toBe(true);
    await clock.advance(1);
    expect(tried.has(A)).toBe(false);
  });

  it('say when no other is left that keeps messages', () => {
    const tried = createTriedHosts(createVirtualClock());
    tried.offered([A, B]);
    expect([tried.avoid(A), tried.avoid(B)]).toEqual([true, false]);
  });
});
