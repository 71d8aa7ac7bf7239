/** Which ends of a session say something about the host's TLS. */
import { expect, it } from 'vitest';
import { endedAtOnce } from './transaction.ts';

const LOST = {
  stage: 'mail',
  reason: 'reset',
  reused: false,
  untried: false,
  afterDot: false,
  reply: null,
} as const;

it('is what ended before an answer, not what a message, the host’s words or we ourselves may have ended', () => {
  for (const stage of ['mail', 'rcpt', 'data'] as const) expect(endedAtOnce({ ...LOST, stage })).toBe(true);
  expect(endedAtOnce({ ...LOST, reason: 'timeout' })).toBe(true);
  for (const stage of ['body', 'dot'] as const) expect(endedAtOnce({ ...LOST, stage })).toBe(false);
  expect(endedAtOnce({ ...LOST, stage: 'dot', afterDot: true })).toBe(false);
  for (const reason of ['421', 'local'] as const) expect(endedAtOnce({ ...LOST, reason })).toBe(false);
  for (const other of ['reused', 'untried'] as const)
    expect(endedAtOnce({ ...LOST, [other]: true })).toBe(false);
});
