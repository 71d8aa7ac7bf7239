/** How customers are told: webhook calls and notices by mail. */

import { bad, good, parseDuration, parseDurations, parseInteger, parseSwitch } from '../forms.ts';
import { both, type KeyTable, key } from '../key-facts.ts';

/** Their values, parsed. */
export interface TellingConfig {
  'webhook-retry': readonly number[] | null;
  'webhook-allow-http': boolean;
  'notice-wait': number;
  'notices-per-hour': number;
}

/** Their forms, defaults and meanings. */
export const TELLING_KEYS: KeyTable<TellingConfig> = {
  'webhook-retry': key(
    'list of waits',
    both(null),
    'replaces the table of waits between webhook tries; after the last one the call has failed',
    parseDurations,
  ),
  'webhook-allow-http': key(
    '`on` or `off`',
    { dev: 'on', serve: 'off' },
    'takes http: webhook targets outside `allow-networks` too',
    parseSwitch,
  ),
  'notice-wait': key(
    'duration',
    both('30s'),
    'from the first failure of a message that came by SMTP to the notice to its sender; others until then share it',
    (t) => {
      const ms = parseDuration(t);
      return ms === null || ms > 3_600_000 ? bad('use a duration of at most an hour, e.g. 30s') : good(ms);
    },
  ),
  'notices-per-hour': key(
    '1 … 100000',
    both('50'),
    'notices to one sender in an hour; the others wait for the next one, a day at most',
    (t) => parseInteger(t, 1, 100_000),
  ),
};
