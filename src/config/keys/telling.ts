/** How customers are informed: webhook calls and notices by mail. */

import { durationWithin, parseDurations, parseInteger, parseSwitch } from '../forms.ts';
import { both, type KeyTable, key } from '../key-facts.ts';

export const TELLING_KEYS = {
  'webhook-retry': key(
    'list of waits',
    both(null),
    'replaces the waits between the attempts of a webhook call; after the last one the call has failed',
    parseDurations,
  ),
  'webhook-allow-http': key(
    '`on` or `off`',
    { dev: 'on', serve: 'off' },
    'allows `http:` webhook URLs also outside `allow-networks`',
    parseSwitch,
  ),
  'notice-wait': key(
    'duration',
    both('30s'),
    'time from the first failure of a message that came by SMTP to the notice to its sender; later failures within it are in the same notice',
    (t) => durationWithin(t, { mostMs: 3_600_000, range: 'of at most an hour, e.g. 30s' }),
  ),
  'notices-per-hour': key(
    '1 … 100000',
    both('50'),
    'notices to one sender in an hour; further ones wait for the next hour, at most a day',
    (t) => parseInteger(t, 1, 100_000),
  ),
} satisfies KeyTable;
