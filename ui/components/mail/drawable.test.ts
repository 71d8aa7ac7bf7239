import { expect, it } from 'vitest';
import { cpuMsOf } from '../../../test/fakes/thread-cpu.ts';
import { drawable, drawableSource, MOST_DRAWN } from './drawable.ts';

it('keeps texts as they are, and of hostile ones as much as a browser draws soon', () => {
  const usual = 'Čau, สวัสดี, नमस्ते 👩‍👩‍👧\r\n> e\u0301\u0328\u0304';
  expect(drawable(usual)).toBe(usual);
  expect(drawable(`a${'\u0301'.repeat(33_000)}b`)).toBe(`a${'\u0301'.repeat(32)}…b`);
  const long = `a${'\u0301'.repeat(31)}`.repeat(1_000_000);
  expect(drawable(long)).toBe(long.slice(0, MOST_DRAWN));
  expect(cpuMsOf(() => drawable(long))).toBeLessThan(1_000);
});

it('names in a source what turns the direction of its texts', () => {
  expect(drawableSource('Subject: invoice\u202efdp.exe\u2069, שלום')).toBe(
    'Subject: invoice[U+202E]fdp.exe[U+2069], שלום',
  );
  expect(drawableSource('\u202e'.repeat(MOST_DRAWN + 1)).length).toBe(MOST_DRAWN * '[U+202E]'.length);
});
