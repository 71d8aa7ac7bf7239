/** How long data is kept. */

import { durationWithin, good, type Parsed, parseInteger } from '../forms.ts';
import { both, type KeyTable, key } from '../key-facts.ts';

export const RETENTION_KEYS = {
  'retain-content': key(
    'duration',
    both('7d'),
    'how long contents are kept from acceptance on; `0s` = until the last recipient is final',
    (t) => parseRetention(t, 0),
  ),
  'retain-content-bytes': key(
    'bytes or `off`',
    both('off'),
    'above this total size the oldest contents are removed whose recipients are final',
    (t) => (t === 'off' ? good(null) : parseInteger(t, 0, Number.MAX_SAFE_INTEGER)),
  ),
  'retain-events': key(
    'duration',
    both('60d'),
    'how long messages, their recipients and events are kept from acceptance on',
    (t) => parseRetention(t, 86_400_000),
  ),
  'retain-calls': key(
    'duration',
    both('7d'),
    'how long the log of webhook calls is kept after they ended',
    (t) => parseRetention(t, 3_600_000),
  ),
  'retain-unsubscribe': key(
    'duration',
    both('730d'),
    'how long unsubscribe links work after their message was accepted; the address is kept for that time',
    (t) => parseRetention(t, 86_400_000),
  ),
  'retain-captures': key('duration', both('7d'), 'how long captured mail is kept', (t) =>
    parseRetention(t, 60_000),
  ),
} satisfies KeyTable;

/** A retention time: at least `leastMs`, at most ten years. */
function parseRetention(text: string, leastMs: number): Parsed<number> {
  const range = `from ${leastMs / 1000}s to 3650d, e.g. 7d`;
  return durationWithin(text, { leastMs, mostMs: 3650 * 86_400_000, range });
}
