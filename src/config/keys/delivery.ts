/** How mail is delivered: the route, DNS, how often and how long delivery is tried. */

import { loginProblem, parseRoute, withoutPasswords } from '../../config-routing.ts';
import type { Route } from '../../model/route.ts';
import {
  bad,
  durationWithin,
  good,
  type Parsed,
  parseCidrs,
  parseDurations,
  parseInteger,
  parseSwitch,
  splitList,
} from '../forms.ts';
import { both, type KeyTable, key } from '../key-facts.ts';

export const DELIVERY_KEYS = {
  route: {
    ...key(
      '`sandbox`, `mx`, `pool:NAME`, `smtp://…`, `smtps://…`; of a list, the first that works',
      { dev: 'sandbox', serve: 'mx' },
      'where mail is sent: captured here, directly to the recipients’ servers, or through a relay',
      parseRoutes,
    ),
    shown: withoutPasswords,
  },
  dns: key(
    '`host:port` list',
    both(''),
    'resolvers; if not set, those of the system, also after they change',
    (t) => {
      const list = splitList(t);
      const wrong = list.find((item) => !/^(\[[0-9a-f:.]+\]|[0-9.]+|[0-9a-f:]+)(:\d{1,5})?$/i.test(item));
      return wrong === undefined ? good(list) : bad(`"${wrong}" is not address[:port], e.g. 127.0.0.1:53`);
    },
  ),
  'dns-trusted': key(
    '`on` or `off`',
    both('off'),
    'trusts the AD bit (DNSSEC-validated) in answers of the resolvers in `dns`, which DANE needs; resolvers on loopback are always trusted. Use it only for validating resolvers on a secure network',
    parseSwitch,
  ),
  ipv6: key(
    '`on` or `off`',
    both('off'),
    'direct delivery also to IPv6 addresses, after the IPv4 ones; this server needs an IPv6 address with a PTR record that is covered by SPF, and each of its `sources` that is to use it an `ipv6` address',
    parseSwitch,
  ),
  'mx-port': key('port', both('25'), 'port for direct delivery', (t) => parseInteger(t, 1, 65_535)),
  'allow-networks': key(
    'CIDR list',
    { dev: '127.0.0.0/8,::1/128', serve: '' },
    'private networks in which MX hosts and webhook targets are allowed',
    parseCidrs,
  ),
  retry: key(
    'list of waits',
    both(null),
    'replaces the computed waits before the next attempt, e.g. `1s,2s,5s`; the last one repeats',
    parseDurations,
  ),
  'max-age': key(
    'duration',
    both(null),
    'maximum age of a message; if not set, 1 h for critical, 72 h for normal and bulk',
    (t) => durationWithin(t, { leastMs: 1_000, range: 'of at least 1s, e.g. 72h' }),
  ),
  'max-connections': key(
    '1 … 1000',
    both(null),
    'SMTP connections from one source to one site: the number for relays and for sites of unknown providers, and the maximum for known providers; if not set, the shaping data decides',
    (t) => parseInteger(t, 1, 1000),
  ),
  'transactions-in-flight': key(
    '1 … 16',
    both(null),
    'messages on one SMTP connection that may be unanswered, if the remote server offers CHUNKING and PIPELINING and its round trip is 5 ms or more; 1 = each waits for the reply to the one before; if not set, the shaping data decides (16 for relays, 1 for others)',
    (t) => parseInteger(t, 1, 16),
  ),
} satisfies KeyTable;

function parseRoutes(text: string): Parsed<readonly Route[]> {
  const routes: Route[] = [];
  for (const item of splitList(text)) {
    const route = parseRoute(item);
    if (route === null) {
      return bad(
        'use sandbox, mx, pool:NAME, smtp://user:password@host:port or smtps://host:port, with special characters of a password percent-encoded (%40 for @, %3A for :, %2F for /, %3F for ?, %23 for #, %2C for a comma, %25 for %)',
      );
    }
    const login = loginProblem(route);
    if (login !== null) return bad(login);
    routes.push(route);
  }
  return routes.length === 0 ? bad('use sandbox, mx or a relay such as smtp://127.0.0.1:2525') : good(routes);
}
