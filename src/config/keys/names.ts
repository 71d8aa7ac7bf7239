/** The names of this server for others, and whether it signs. */

import { domainText, parseSwitch } from '../forms.ts';
import { both, type KeyFacts, type KeyTable, key } from '../key-facts.ts';

export const NAMES_KEYS = {
  hostname: key(
    'host name',
    both(null),
    'EHLO name; the system name if not set',
    domainText,
  ) as KeyFacts<string>,
  'bounce-domain': key(
    'domain',
    both(null),
    'domain of return-path addresses; `hostname` if not set',
    domainText,
  ),
  'service-domain': key(
    'domain',
    both(null),
    'a sender domain of the operator, added at the start, whose key also signs every message, so that you sign up for feedback loops only once; it signs as soon as its records are published',
    domainText,
  ),
  dkim: key(
    '`on` or `off`',
    both('on'),
    'signs every message; use `off` only if a relay signs them instead',
    parseSwitch,
  ),
} satisfies KeyTable;
