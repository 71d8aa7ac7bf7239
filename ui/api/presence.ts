/**
 * Whether somebody is at the page: what it asks for by itself, while nobody moves the pointer or presses a key, does not keep
 * the session from ending.
 */

const GONE_AFTER_MS = 5 * 60_000;
const SIGNS = ['pointerdown', 'pointermove', 'keydown', 'wheel', 'touchstart'] as const;

let lastSignAt = performance.now();
const noted = (): void => {
  lastSignAt = performance.now();
};
// Tests import this outside of a browser, too.
const page = globalThis as unknown as {
  addEventListener?(sign: string, noted: () => void, options: object): void;
};
for (const sign of SIGNS) page.addEventListener?.(sign, noted, { capture: true, passive: true });

export function isSomebodyThere(): boolean {
  return performance.now() - lastSignAt < GONE_AFTER_MS;
}
