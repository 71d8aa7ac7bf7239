/** Limits of acceptance: sizes, rates and quotas, the sandbox's own domain. */

import {
  bad,
  domainText,
  good,
  type Parsed,
  parseInteger,
  parseOptionalListen,
  splitList,
} from '../forms.ts';
import { both, type KeyTable, key } from '../key-facts.ts';

export const ACCEPTANCE_KEYS = {
  'rate-limit': key('sends per second or `off`', both('off'), 'sends per second for each token', (t) => {
    if (t === 'off') return good(null);
    const n = Number(t);
    return Number.isFinite(n) && n > 0 ? good(n) : bad('use a number above 0, or off');
  }),
  'quota-per-minute': key('a whole number or `off`', both('off'), quotaMeaning('minute'), parseQuota),
  'quota-per-hour': key('a whole number or `off`', both('off'), quotaMeaning('hour'), parseQuota),
  'quota-per-day': key('a whole number or `off`', both('off'), quotaMeaning('day'), parseQuota),
  'max-recipients': key('1 … 1000', both('50'), 'recipients of one message in To, CC and BCC together', (t) =>
    parseInteger(t, 1, 1000),
  ),
  'max-message-bytes': key('bytes', both('26214400'), 'encoded size of one message, 1 to 100 MiB', (t) =>
    parseInteger(t, 1_048_576, 104_857_600),
  ),
  'blocked-extensions': key(
    'list',
    both(''),
    'file name endings refused as attachments, e.g. `exe,js`',
    (t) => good(splitList(t).map((item) => item.replace(/^\./, '').toLowerCase())),
  ),
  'queue-limit': key(
    'recipients',
    both('5000000'),
    'above this number of waiting recipients, new mail is answered with 503',
    (t) => parseInteger(t, 1, 1_000_000_000),
  ),
  'queue-limit-per-domain': key(
    'recipients, `auto` or `off`',
    both('auto'),
    'recipients that one sender domain may have in the queue; more is answered 429. `auto`: four fifths of what it has and what is free below `queue-limit`, at least 1000',
    (t): Parsed<number | 'auto' | null> => {
      if (t === 'auto' || t === 'off') return good(t === 'auto' ? t : null);
      return parseInteger(t, 1, 1_000_000_000);
    },
  ),
  'stored-bytes': key(
    'bytes, `auto` or `off`',
    both('auto'),
    'disk space for one sender domain: waiting mail, captured copies, stored contents; above it, new mail is answered with 429. `auto`: four fifths of the sum of what it uses and what is free above the last 5 %',
    (t): Parsed<number | 'auto' | null> => {
      if (t === 'auto' || t === 'off') return good(t === 'auto' ? t : null);
      return parseInteger(t, 1_048_576, 1_000_000_000_000_000);
    },
  ),
  'streams-per-tenant': key(
    '1 … 200',
    both('25'),
    'streams of events, and as many of captured mail, that the tokens of one domain or one creator may have open at the same time',
    (t) => parseInteger(t, 1, 200),
  ),
  'simulator-domain': key(
    'domain',
    both('simulator.test'),
    'recipients at this domain get simulated results; their mail is never sent',
    domainText,
  ),
  spamassassin: key(
    '`host:port` or `off`',
    both('off'),
    'where a `spamd` of yours listens, e.g. `127.0.0.1:783`: the checks of captured mail name the rules of SpamAssassin that it hits. `spamd --local` asks no one else about the mail',
    parseOptionalListen,
  ),
} satisfies KeyTable;

function quotaMeaning(period: string): string {
  return `recipients a sender domain may write to in one ${period} (of UTC), if it has no own quota`;
}

function parseQuota(text: string): Parsed<number | null> {
  return text === 'off' ? good(null) : parseInteger(text, 0, 1_000_000_000);
}
