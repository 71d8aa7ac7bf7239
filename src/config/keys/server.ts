/** The process: its data, its listeners, its certificates, its logs. */

import {
  bad,
  good,
  isNodeName,
  nonEmpty,
  type Parsed,
  parseCidrs,
  parseFile,
  parseListen,
  parseOptionalListen,
  parseSwitch,
  splitList,
} from '../forms.ts';
import { both, type KeyTable, key } from '../key-facts.ts';

/** The parts of the server that a process can run; the key `roles` names some. */
const ROLES = ['http', 'submission', 'returns', 'deliver', 'webhooks', 'upkeep'] as const;
/** One of `ROLES`. */
export type Role = (typeof ROLES)[number];

export const SERVER_KEYS = {
  data: key('folder', both('./postrider-data'), 'folder of the embedded database, keys and spool', (t) =>
    nonEmpty(t, 'a folder path'),
  ),
  http: key('`host:port`', both('127.0.0.1:8025'), 'API listener; port 0 takes a free port', parseListen),
  'http-certificate': key(
    'file or `off`',
    both('off'),
    'certificate chain (PEM) of `http`, read again when it changes: clients on other machines then need HTTPS (HTTP/2 or HTTP/1.1), those on this machine may use plain HTTP too',
    parseFile,
  ),
  'http-certificate-key': key('file or `off`', both('off'), 'key (PEM) of `http-certificate`', parseFile),
  submission: key(
    '`host:port` or `off`',
    { dev: '127.0.0.1:1025', serve: 'off' },
    'SMTP submission listener',
    parseOptionalListen,
  ),
  'submission-tls': key(
    '`host:port` or `off`',
    both('off'),
    'SMTP submission listener with implicit TLS',
    parseOptionalListen,
  ),
  'submission-starttls': key(
    '`on` or `off`',
    { dev: 'off', serve: 'on' },
    'whether `submission` offers STARTTLS; `off` is for `dev`, where clients would refuse a self-signed certificate',
    parseSwitch,
  ),
  expose: key(
    '`on` or `off`',
    both('off'),
    'lets `dev` listen on addresses other than loopback, for containers; clients that are not on loopback then need a token, also for SMTP',
    parseSwitch,
  ),
  returns: key(
    '`host:port` or `off`',
    both('off'),
    'inbound SMTP for bounces and complaints, with STARTTLS; must be reachable at port 25 of the bounce domain',
    parseOptionalListen,
  ),
  'public-url': key(
    'URL',
    both(null),
    'the URL that clients and links use; derived from `http` if not set, with `http-certificate` from `hostname`',
    (t) =>
      /^https?:\/\/[^/\s]+/.test(t)
        ? good(t.replace(/\/+$/, ''))
        : bad('use http://host[:port] or https://host[:port]'),
  ),
  'trusted-proxies': key('CIDR list', both(''), 'proxies whose X-Forwarded-For is trusted', parseCidrs),
  'metrics-from': key(
    'CIDR list',
    both(''),
    'addresses that may read `/metrics` without a token, but not through a proxy',
    parseCidrs,
  ),
  'tls-cert': key(
    'file',
    both(null),
    'certificate chain (PEM) of the SMTP listeners, read again when it changes; self-signed if not set',
    (t) => nonEmpty(t, 'a file'),
  ),
  'tls-key': key('file', both(null), 'key (PEM) of `tls-cert`', (t) => nonEmpty(t, 'a file')),
  'secret-key': {
    ...key(
      '64 hexadecimal digits; several separated by commas, the first encrypts',
      both(null),
      'encrypts keys and secrets in the database; created at the first start (file `secret-key`, mode 0600) if not set',
      (t) =>
        t.split(',').every((part) => /^[0-9a-f]{64}$/i.test(part.trim()))
          ? good(t)
          : bad('use 64 hexadecimal digits, e.g. from: openssl rand -hex 32'),
    ),
    secret: true,
  },
  'operator-address': key(
    'address',
    both(null),
    'where alerts are mailed to, and mail for postmaster and abuse at the bounce domain is forwarded to; if not set, there are no such mails, and that mail is kept in the spool',
    (t) => (/^[^\s@]+@[^\s@]+$/.test(t) ? good(t) : bad('use an address, e.g. ops@example.com')),
  ),
  roles: key('list', both(ROLES.join(',')), 'the parts of the server that this process runs', (t) => {
    const list = splitList(t);
    const wrong = list.find((item) => !(ROLES as readonly string[]).includes(item));
    if (wrong !== undefined || list.length === 0) return bad(`use some of ${ROLES.join(', ')}`);
    return good(list as Role[]);
  }),
  'node-name': key(
    'name',
    both(null),
    'this process in `sources[].node` and in `postrider nodes`; by default the name of the machine',
    (t) => (isNodeName(t) ? good(t) : bad('use 1 to 64 letters, digits, dots or hyphens')),
  ),
  'log-level': key(
    '`debug`, `info`, `warn`, `error`',
    both('info'),
    'lowest level that is logged',
    (t): Parsed<'debug' | 'info' | 'warn' | 'error'> =>
      t === 'debug' || t === 'info' || t === 'warn' || t === 'error'
        ? good(t)
        : bad('use debug, info, warn or error'),
  ),
  'mask-addresses': key('`on` or `off`', both('off'), 'masks recipients in the mail log', parseSwitch),
} satisfies KeyTable;
