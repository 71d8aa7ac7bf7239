import { describe, expect, it } from 'vitest';
import { createSignal } from './signal.ts';

describe('a signal', () => {
  it('calls every listener until it leaves, also the same function twice', () => {
    const signal = createSignal();
    let heard = 0;
    const listener = () => {
      heard += 1;
    };
    const [leave] = [signal.subscribe(listener), signal.subscribe(listener)];
    signal.notify();
    expect(heard).toBe(2);
    leave?.();
    leave?.();
    signal.notify();
    expect(heard).toBe(3);
  });

  it('lets a listener leave while it is called', () => {
    const signal = createSignal();
    let heard = 0;
    const leave = signal.subscribe(() => {
      heard += 1;
      leave();
    });
    signal.notify();
    signal.notify();
    expect(heard).toBe(1);
  });
});
