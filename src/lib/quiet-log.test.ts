import { expect, it } from 'vitest';
import type { LogFields } from './log.ts';
import { createQuietLog } from './quiet-log.ts';
import { createVirtualClock } from './virtual-clock.ts';

function collected() {
  const lines: [string, LogFields, string][] = [];
  const to = (level: string) => (fields: LogFields, message: string) =>
    void lines.push([level, fields, message]);
  const log = { debug: to('debug'), info: to('info'), warn: to('warn'), error: to('error') };
  return { lines, log };
}

it('writes a known failure once a minute, without its stack and with how many there were', async () => {
  const { lines, log } = collected();
  const clock = createVirtualClock(0);
  const away = new Error('the database cannot be reached');
  const quiet = createQuietLog(log, clock, (err) => err === away);
  for (let second = 0; second < 120; second++) {
    quiet.warn({ err: away, what: 'round' }, 'the round failed');
    await clock.advance(1_000);
  }
  const line = { what: 'round', reason: 'the database cannot be reached' };
  expect(lines).toEqual([
    ['warn', line, 'the round failed'],
    ['warn', { ...line, repeated: 59 }, 'the round failed'],
  ]);
  quiet.error({ err: away }, 'another job failed');
  expect(lines.at(-1)).toEqual(['error', { reason: away.message }, 'another job failed']);
});

it('passes all other lines, also those of one message that repeat', () => {
  const { lines, log } = collected();
  const quiet = createQuietLog(log, createVirtualClock(0), () => false);
  const bug = new TypeError('a bug');
  quiet.warn({ err: bug }, 'failed');
  quiet.warn({ err: bug }, 'failed');
  quiet.error({ rows: 1 }, 'gone');
  quiet.info({}, 'told');
  quiet.debug({}, 'seen');
  expect(lines).toEqual([
    ['warn', { err: bug }, 'failed'],
    ['warn', { err: bug }, 'failed'],
    ['error', { rows: 1 }, 'gone'],
    ['info', {}, 'told'],
    ['debug', {}, 'seen'],
  ]);
});
