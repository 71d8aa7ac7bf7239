/**
 * Configuration: one typed table (operating.md §3). Each key has a name, an environment name, a parser, a default per
 * mode and its meaning. Values come from flags, then the environment (also `NAME_FILE`), then `postrider.json` in the
 * data folder, then the default. The reference page and `postrider config` are made from this table.
 * Unknown keys and bad values are `ConfigError`s that name the key, the value and the fix.
 * It is one piece, though long, because the table is: what reads a key stands beside it.
 */
import { readFileSync } from 'node:fs';
import { hostname as systemHostname } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import {
  parseRouteTarget,
  type RouteTarget,
  type Routing,
  readRouting,
  routingRows,
  withoutPasswords,
} from './config-routing.ts';
import { closest } from './lib/closest.ts';

export type Mode = 'dev' | 'serve';

/** All problems found at once; `message` is ready to be shown. */
export class ConfigError extends Error {
  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.name = 'ConfigError';
  }
}

export interface ListenAddress {
  host: string;
  /** 0 = any free port. */
  port: number;
}

export const ROLES = ['http', 'submission', 'returns', 'deliver', 'webhooks', 'upkeep'] as const;
export type Role = (typeof ROLES)[number];

export interface Config {
  data: string;
  database: string;
  http: ListenAddress;
  submission: ListenAddress | null;
  'submission-tls': ListenAddress | null;
  returns: ListenAddress | null;
  'public-url': string | null;
  'bounce-domain': string | null;
  'service-domain': string | null;
  'secret-key': string | null;
  'tls-cert': string | null;
  'tls-key': string | null;
  'trusted-proxies': readonly string[];
  'operator-address': string | null;
  'rate-limit': number | null;
  'quota-per-minute': number | null;
  'quota-per-hour': number | null;
  'quota-per-day': number | null;
  'mask-addresses': boolean;
  hostname: string;
  route: readonly RouteTarget[];
  dns: readonly string[];
  'dns-trusted': boolean;
  ipv6: boolean;
  'mx-port': number;
  'doctor-probe': readonly string[];
  'doctor-dnsbl': readonly string[];
  'doctor-clock': string | null;
  'allow-networks': readonly string[];
  retry: readonly number[] | null;
  'max-age': number | null;
  'webhook-retry': readonly number[] | null;
  'webhook-allow-http': boolean;
  'blocked-extensions': readonly string[];
  roles: readonly Role[];
  'log-level': 'debug' | 'info' | 'warn' | 'error';
  'max-recipients': number;
  'max-message-bytes': number;
  'max-connections': number | null;
  dkim: boolean;
  'queue-limit': number;
  'simulator-domain': string;
  'notice-wait': number;
  'notices-per-hour': number;
  'retain-content': number;
  'retain-content-bytes': number | null;
  'retain-events': number;
  'retain-calls': number;
  'retain-captures': number;
}

export type ConfigKey = keyof Config;

type Parsed<T> = { ok: true; value: T } | { ok: false; fix: string };

interface KeyFacts<T> {
  /** Environment name; a `_FILE` twin names a file that holds the value. */
  environment: string;
  /** Unit or form of the value, as the reference shows it. */
  form: string;
  /** Default text per mode as a user would write it; null = not set. */
  defaults: Readonly<Record<Mode, string | null>>;
  meaning: string;
  /** Shown as `(secret)`. */
  secret?: boolean;
  /** The value as it may be shown; for keys that hold a secret among other things. */
  shown?: (text: string) => string;
  /** Not working in this version: setting it is reported at start. */
  notYet?: boolean;
  parse(text: string): Parsed<T>;
}

export const CONFIG_KEYS: { readonly [K in ConfigKey]: KeyFacts<Config[K]> } = {
  data: key('folder', both('./postrider-data'), 'folder of the embedded database, keys and spool', (t) =>
    nonEmpty(t, 'a folder path'),
  ),
  database: key(
    '`sqlite:PATH`',
    both('sqlite:'),
    'the store; `sqlite:` alone is `postrider.db` in the data folder',
    (t) => {
      if (t.startsWith('sqlite:')) return good(t);
      if (/^postgres(ql)?:/.test(t))
        return bad('PostgreSQL is not available in this version; use sqlite:PATH');
      return bad('use sqlite: or sqlite:PATH');
    },
  ),
  http: key('`host:port`', both('127.0.0.1:8025'), 'API listener; port 0 takes a free port', parseListen),
  submission: key(
    '`host:port` or `off`',
    { dev: '127.0.0.1:1025', serve: 'off' },
    'SMTP submission listener, with STARTTLS',
    parseOptionalListen,
  ),
  'submission-tls': key(
    '`host:port` or `off`',
    both('off'),
    'SMTP submission listener that begins with TLS',
    parseOptionalListen,
  ),
  returns: key(
    '`host:port` or `off`',
    both('off'),
    'inbound SMTP for bounces and complaints, with STARTTLS; the internet reaches it at port 25 of the bounce domain',
    parseOptionalListen,
  ),
  'public-url': key('URL', both(null), 'what clients and links use; made from `http` where not set', (t) =>
    /^https?:\/\/[^/\s]+/.test(t)
      ? good(t.replace(/\/+$/, ''))
      : bad('use http://host[:port] or https://host[:port]'),
  ),
  'bounce-domain': key(
    'domain',
    both(null),
    'domain of return-path addresses; `hostname` where not set',
    domainText,
  ),
  'service-domain': key(
    'domain',
    both(null),
    'a sender domain of the operator’s, added at the start, whose key signs every message beside its sender’s own, so that feedback loops are enrolled in once; it signs once its records are published',
    domainText,
  ),
  'secret-key': {
    ...key(
      '64 hexadecimal digits; several separated by commas, the first seals',
      both(null),
      'seals keys and secrets at rest; made at the first start (file `secret-key`, mode 0600) where not set',
      (t) =>
        t.split(',').every((part) => /^[0-9a-f]{64}$/i.test(part.trim()))
          ? good(t)
          : bad('use 64 hexadecimal digits, e.g. from: openssl rand -hex 32'),
    ),
    secret: true,
  },
  'tls-cert': key(
    'file',
    both(null),
    'certificate chain (PEM) of the SMTP listeners, read again when it changes; self-signed where not set',
    (t) => nonEmpty(t, 'a file'),
  ),
  'tls-key': key('file', both(null), 'key (PEM) of `tls-cert`', (t) => nonEmpty(t, 'a file')),
  'trusted-proxies': key('CIDR list', both(''), 'proxies whose X-Forwarded-For is believed', parseCidrs),
  'operator-address': key(
    'address',
    both(null),
    'where mail for postmaster and abuse at the bounce domain is passed on to; kept in the spool where not set',
    (t) => (/^[^\s@]+@[^\s@]+$/.test(t) ? good(t) : bad('use an address, e.g. ops@example.com')),
  ),
  'rate-limit': key('sends per second or `off`', both('off'), 'sends per second for each token', (t) => {
    if (t === 'off') return good(null);
    const n = Number(t);
    return Number.isFinite(n) && n > 0 ? good(n) : bad('use a number above 0, or off');
  }),
  'quota-per-minute': key('a whole number or `off`', both('off'), quotaMeaning('minute'), parseQuota),
  'quota-per-hour': key('a whole number or `off`', both('off'), quotaMeaning('hour'), parseQuota),
  'quota-per-day': key('a whole number or `off`', both('off'), quotaMeaning('day'), parseQuota),
  'mask-addresses': key('`on` or `off`', both('off'), 'masks recipients in the mail log', parseSwitch),
  hostname: key(
    'host name',
    both(null),
    'EHLO name; the system name where not set',
    domainText,
  ) as KeyFacts<string>,
  route: {
    ...key(
      '`sandbox`, `mx`, `pool:NAME`, `smtp://…`, `smtps://…`; a list fails over in order',
      { dev: 'sandbox', serve: 'mx' },
      'the way out: captured here, direct to the recipients’ servers, or through a relay',
      parseRoutes,
    ),
    shown: withoutPasswords,
  },
  dns: key('`host:port` list', both(''), 'resolvers; the system’s where not set', (t) => {
    const list = splitList(t);
    const wrong = list.find((item) => !/^(\[[0-9a-f:.]+\]|[0-9.]+|[0-9a-f:]+)(:\d{1,5})?$/i.test(item));
    return wrong === undefined ? good(list) : bad(`"${wrong}" is not address[:port], e.g. 127.0.0.1:53`);
  }),
  'dns-trusted': key(
    '`on` or `off`',
    both('off'),
    'believes the resolvers of `dns` that an answer is DNSSEC-validated (the AD bit), which DANE needs; those on loopback are believed anyway. Only for validating resolvers that nobody stands between',
    parseSwitch,
  ),
  ipv6: key(
    '`on` or `off`',
    both('off'),
    'direct delivery to IPv6 addresses too, after the IPv4 ones; only with an IPv6 address of this server that has a PTR record and stands in SPF',
    parseSwitch,
  ),
  'mx-port': key('port', both('25'), 'port for direct delivery', (t) => parseInteger(t, 1, 65_535)),
  'doctor-probe': key(
    '`address:port` list',
    both(''),
    'mail servers of yours elsewhere that `doctor` tries to reach, to see whether port 25 is open outwards; nobody else is tried',
    (t) => {
      const list = splitList(t);
      const wrong = list.find((item) => !/^(?:\d{1,3}(?:\.\d{1,3}){3}|\[[0-9a-f:.]+\]):\d{1,5}$/i.test(item));
      return wrong === undefined ? good(list) : bad(`"${wrong}" is not address:port, e.g. 198.51.100.7:25`);
    },
  ),
  'doctor-dnsbl': {
    ...key(
      'list of zones',
      both(''),
      'block lists that `doctor` asks about the addresses mail leaves from, each with your key where the list gives one, e.g. `KEY.zen.dq.spamhaus.net`',
      (t) => {
        const list = splitList(t).map((item) => item.toLowerCase().replace(/\.$/, ''));
        const wrong = list.find((item) => !/^[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})+$/.test(item));
        return wrong === undefined ? good(list) : bad(`"${wrong}" is not the zone of a block list`);
      },
    ),
    secret: true,
  },
  'doctor-clock': key(
    'URL',
    both(null),
    'a web server of yours whose clock is right; `doctor` compares this one with it',
    (t) => (/^https?:\/\/[^/\s]+/.test(t) ? good(t) : bad('use a URL such as https://www.example.com/')),
  ),
  'allow-networks': key(
    'CIDR list',
    { dev: '127.0.0.0/8,::1/128', serve: '' },
    'networks, otherwise refused as private, that MX hosts and webhook targets may lie in',
    parseCidrs,
  ),
  retry: key(
    'list of waits',
    both(null),
    'replaces every computed wait before the next attempt, e.g. `1s,2s,5s`; the last one repeats',
    parseDurations,
  ),
  'max-age': key(
    'duration',
    both(null),
    'give-up age; where not set 1 h critical, 72 h normal and bulk',
    (t) => {
      const ms = parseDuration(t);
      return ms === null || ms < 1000 ? bad('use a duration of at least 1s, e.g. 72h') : good(ms);
    },
  ),
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
  'blocked-extensions': key(
    'list',
    both(''),
    'file name endings refused as attachments, e.g. `exe,js`',
    (t) => good(splitList(t).map((item) => item.replace(/^\./, '').toLowerCase())),
  ),
  roles: key('list', both(ROLES.join(',')), 'what this process does', (t) => {
    const list = splitList(t);
    const wrong = list.find((item) => !(ROLES as readonly string[]).includes(item));
    if (wrong !== undefined || list.length === 0) return bad(`use some of ${ROLES.join(', ')}`);
    return good(list as Role[]);
  }),
  'log-level': key('`debug`, `info`, `warn`, `error`', both('info'), 'least level that is logged', (t) =>
    t === 'debug' || t === 'info' || t === 'warn' || t === 'error'
      ? good(t)
      : bad('use debug, info, warn or error'),
  ),
  'max-recipients': key('1 … 1000', both('50'), 'recipients of one message in To, CC and BCC together', (t) =>
    parseInteger(t, 1, 1000),
  ),
  'max-message-bytes': key('bytes', both('26214400'), 'encoded size of one message, 1 to 100 MiB', (t) =>
    parseInteger(t, 1_048_576, 104_857_600),
  ),
  'max-connections': key(
    '1 … 1000',
    both(null),
    'SMTP connections from one source to one site: what sites of no known provider and relays get, and a cap for known providers; the shaping data decides where not set',
    (t) => parseInteger(t, 1, 1000),
  ),
  dkim: key(
    '`on` or `off`',
    both('on'),
    'signs every message; `off` only where a relay behind this server signs instead',
    parseSwitch,
  ),
  'queue-limit': key(
    'recipients',
    both('5000000'),
    'high-water mark: above this many waiting recipients new mail is answered 503',
    (t) => parseInteger(t, 1, 1_000_000_000),
  ),
  'simulator-domain': key(
    'domain',
    both('simulator.test'),
    'recipients there are played by the sandbox and never leave the machine',
    domainText,
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
  'retain-content': key(
    'duration',
    both('7d'),
    'how long contents are kept from acceptance on; `0s` = until the last recipient is final',
    (t) => parseRetention(t, 0),
  ),
  'retain-content-bytes': key(
    'bytes or `off`',
    both('off'),
    'above this size of all contents together the oldest go, whose recipients are final',
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
  'retain-captures': key(
    'duration',
    both('7d'),
    'how long the sandbox keeps what it captured, with its content',
    (t) => parseRetention(t, 60_000),
  ),
};

/** What has structure stands in the file only. */
const STRUCTURED: readonly string[] = ['sources', 'routes'];

/** One value with where it came from, for `postrider config`. */
export interface ConfigOrigin {
  text: string | null;
  source: 'flag' | 'environment' | 'file' | 'default';
}

export interface LoadedConfig {
  config: Config;
  origins: Readonly<Record<ConfigKey, ConfigOrigin>>;
  /** Keys that were set but have no effect in this version. */
  notYet: readonly ConfigKey[];
  /** What the file alone may hold. */
  routing: Routing;
}

/**
 * Reads the configuration. `flags` are already keyed by config key; `environment` is the process environment.
 * Throws ConfigError with every problem found.
 */
export function loadConfig(
  mode: Mode,
  flags: Readonly<Record<string, string | undefined>>,
  environment: Readonly<Record<string, string | undefined>>,
): LoadedConfig {
  const problems: string[] = [];
  const origins = {} as Record<ConfigKey, ConfigOrigin>;
  const config = {} as Config;
  const notYet: ConfigKey[] = [];

  // The data folder decides where the file is, so it is read first and cannot stand in the file.
  const data = pick('data', null);
  const file = readFile(join(resolve(data.text ?? '.'), 'postrider.json'), problems);
  for (const name of Object.keys(file)) {
    if (!(name in CONFIG_KEYS) && !STRUCTURED.includes(name)) {
      problems.push(
        `postrider.json: unknown key "${name}"; known keys: ${[...Object.keys(CONFIG_KEYS), ...STRUCTURED].join(', ')}`,
      );
    }
  }
  for (const name of Object.keys(environment)) {
    if (isKnownVariable(name)) continue;
    const known = Object.values(CONFIG_KEYS).flatMap(({ environment: own }) => [own, `${own}_FILE`]);
    problems.push(`${name}: no such key; did you mean ${closest(name, known)}?`);
  }
  for (const name of Object.keys(flags)) {
    if (!(name in CONFIG_KEYS)) problems.push(`--${name}: unknown configuration key`);
  }
  for (const name of Object.keys(CONFIG_KEYS) as ConfigKey[]) {
    const facts = CONFIG_KEYS[name];
    const origin = pick(name, file);
    origins[name] = origin;
    if (origin.text === null) {
      Object.assign(config, { [name]: null });
      continue;
    }
    const parsed = facts.parse(origin.text.trim());
    if (parsed.ok) Object.assign(config, { [name]: parsed.value });
    else problems.push(`${whence(name, origin.source)} "${shownValue(name, origin.text)}": ${parsed.fix}`);
    if (facts.notYet && origin.source !== 'default' && origin.text !== 'off') notYet.push(name);
  }
  for (const [name, usual] of [
    ['http', '127.0.0.1:8025'],
    ['submission', '127.0.0.1:1025'],
    ['submission-tls', '127.0.0.1:1465'],
    ['returns', '127.0.0.1:1026'],
  ] as const) {
    const listen: ListenAddress | null | undefined = config[name];
    if (mode === 'dev' && listen !== undefined && listen !== null && !isLoopback(listen.host)) {
      problems.push(
        `${whence(name, origins[name].source)} "${origins[name].text}": dev listens on loopback only; use ${usual}, or run serve --route sandbox`,
      );
    }
  }
  if ((config['tls-cert'] === null) !== (config['tls-key'] === null)) {
    problems.push('tls-cert and tls-key belong together: set both, or neither for a self-signed certificate');
  }
  const routing = readRouting(file, config.route ?? [], problems);
  if (problems.length > 0) throw new ConfigError(problems);
  config.data = resolve(config.data);
  config.hostname ??= defaultHostname();
  return { config, origins, notYet, routing };

  function pick(name: ConfigKey, fromFile: Readonly<Record<string, unknown>> | null): ConfigOrigin {
    const facts = CONFIG_KEYS[name];
    const flag = flags[name];
    if (flag !== undefined) return { text: flag, source: 'flag' };
    const direct = environment[facts.environment];
    if (direct !== undefined && direct !== '') return { text: direct, source: 'environment' };
    const path = environment[`${facts.environment}_FILE`];
    if (path !== undefined && path !== '') {
      try {
        return { text: readFileSync(path, 'utf8').trim(), source: 'environment' };
      } catch (cause) {
        problems.push(`${facts.environment}_FILE "${path}": cannot be read (${(cause as Error).message})`);
      }
    }
    const value = fromFile?.[name];
    if (value !== undefined && name !== 'data') {
      const list = Array.isArray(value) ? value.join(',') : String(value);
      return { text: list, source: 'file' };
    }
    return { text: facts.defaults[mode], source: 'default' };
  }

  function whence(name: ConfigKey, source: ConfigOrigin['source']): string {
    if (source === 'flag') return `--${name}`;
    if (source === 'environment') return CONFIG_KEYS[name].environment;
    return `postrider.json: ${name}`;
  }
}

/** What an orchestrator sets for a service of our name (Kubernetes: `<NAME>_SERVICE_HOST`, `<NAME>_PORT_8025_TCP` …). */
const OF_ORCHESTRATORS =
  /^POSTRIDER_(?:SERVICE_(?:HOST|PORT)(?:_[A-Z0-9_]+)?|PORT(?:_\d+_(?:TCP|UDP|SCTP)(?:_(?:ADDR|PORT|PROTO))?)?)$/;

/** Ours, and no configuration: a failpoint of tests, the token that applications are given. */
const OTHER_VARIABLES: readonly string[] = ['POSTRIDER_FAILPOINT', 'POSTRIDER_TOKEN'];

/** Whether an environment name is none of ours, or one that has a meaning. */
function isKnownVariable(name: string): boolean {
  if (!name.startsWith('POSTRIDER_') || OTHER_VARIABLES.includes(name)) return true;
  if (OF_ORCHESTRATORS.test(name)) return true;
  const variable = name.endsWith('_FILE') ? name.slice(0, -'_FILE'.length) : name;
  return Object.values(CONFIG_KEYS).some(
    ({ environment }) => environment === name || environment === variable,
  );
}

/** How a key's value may be printed or logged. */
export function shownValue(name: ConfigKey, text: string): string {
  const facts = CONFIG_KEYS[name];
  return facts.secret ? '(secret)' : (facts.shown?.(text) ?? text);
}

/** Every key as people are shown it: value in force without secrets, where it came from, default, meaning. */
export function configRows(mode: Mode, { origins, routing }: Pick<LoadedConfig, 'origins' | 'routing'>) {
  const rows = (Object.keys(CONFIG_KEYS) as ConfigKey[]).map((name) => {
    const facts = CONFIG_KEYS[name];
    const { text, source } = origins[name];
    return {
      key: name,
      value: text === null ? null : shownValue(name, text),
      source,
      environment: facts.environment,
      default: facts.defaults[mode],
      meaning: facts.notYet ? `${facts.meaning} (not in this version)` : facts.meaning,
    };
  });
  const structured = routingRows(routing).map((row) => ({
    ...row,
    source: 'file' as const,
    environment: '',
    default: null,
  }));
  return [...rows, ...structured];
}

/** The base URL clients use: `public-url`, or made from the listener's real address. Without trailing slash. */
export function publicUrl(config: Config, listening: ListenAddress): string {
  if (config['public-url'] !== null) return config['public-url'];
  const host = listening.host === '0.0.0.0' || listening.host === '::' ? config.hostname : listening.host;
  return `http://${host.includes(':') ? `[${host}]` : host}:${listening.port}`;
}

function key<T>(
  form: string,
  defaults: Readonly<Record<Mode, string | null>>,
  meaning: string,
  parse: (text: string) => Parsed<T>,
): KeyFacts<T> {
  return { environment: '', form, defaults, meaning, parse };
}
for (const [name, facts] of Object.entries(CONFIG_KEYS)) {
  (facts as { environment: string }).environment = `POSTRIDER_${name.toUpperCase().replaceAll('-', '_')}`;
}

function both(text: string | null): Readonly<Record<Mode, string | null>> {
  return { dev: text, serve: text };
}

function good<T>(value: T): Parsed<T> {
  return { ok: true, value };
}

function bad(fix: string): { ok: false; fix: string } {
  return { ok: false, fix };
}

function nonEmpty(text: string, what: string): Parsed<string> {
  return text === '' ? bad(`needs ${what}`) : good(text);
}

function splitList(text: string): string[] {
  return text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
}

function parseListen(text: string): Parsed<ListenAddress> {
  const match = /^(?:\[([0-9a-f:.]+)\]|([^:\s]*)):(\d{1,5})$/i.exec(text);
  const port = Number(match?.[3]);
  if (match === null || port > 65_535)
    return bad('use host:port, e.g. 127.0.0.1:8025, or :0 for a free port');
  const host = match[1] ?? match[2] ?? '';
  return good({ host: host === '' ? '127.0.0.1' : host, port });
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host);
}

function parseOptionalListen(text: string): Parsed<ListenAddress | null> {
  return text === 'off' ? good(null) : parseListen(text);
}

function domainText(text: string): Parsed<string> {
  return /^[a-z0-9_]([a-z0-9_-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/i.test(text) &&
    text.length <= 253
    ? good(text.toLowerCase())
    : bad('use a host or domain name in ASCII, e.g. mail.example.com');
}

function parseCidrs(text: string): Parsed<readonly string[]> {
  const list = splitList(text);
  const wrong = list.find((item) => {
    const slash = item.lastIndexOf('/');
    const address = slash < 0 ? item : item.slice(0, slash);
    const bits = slash < 0 ? 0 : Number(item.slice(slash + 1));
    const v6 = address.includes(':');
    return !/^[0-9a-f:.]+$/i.test(address) || !Number.isInteger(bits) || bits < 0 || bits > (v6 ? 128 : 32);
  });
  return wrong === undefined ? good(list) : bad(`"${wrong}" is not a network, e.g. 10.0.0.0/8`);
}

function quotaMeaning(period: string): string {
  return `recipients a sender domain may write to in a ${period} (of UTC), where it has no quota of its own`;
}

function parseQuota(text: string): Parsed<number | null> {
  return text === 'off' ? good(null) : parseInteger(text, 0, 1_000_000_000);
}

function parseSwitch(text: string): Parsed<boolean> {
  if (/^(on|true|yes|1)$/i.test(text)) return good(true);
  if (/^(off|false|no|0)$/i.test(text)) return good(false);
  return bad('use on or off');
}

function parseInteger(text: string, low: number, high: number): Parsed<number> {
  const n = Number(text);
  return /^\d+$/.test(text) && n >= low && n <= high
    ? good(n)
    : bad(`use a whole number from ${low} to ${high}`);
}

const UNIT_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  min: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** `250ms`, `10s`, `5m`, `5min`, `72h`, `3d` as milliseconds; null for anything else. */
export function parseDuration(text: string): number | null {
  const match = /^(\d{1,9}(?:\.\d{1,3})?)(ms|s|m|min|h|d)$/.exec(text.trim());
  if (match === null) return null;
  return Math.round(Number(match[1]) * (UNIT_MS[match[2] ?? ''] ?? 0));
}

/** How long something is kept: at least `leastMs`, at most ten years. */
function parseRetention(text: string, leastMs: number): Parsed<number> {
  const ms = parseDuration(text);
  if (ms !== null && ms >= leastMs && ms <= 3650 * 86_400_000) return good(ms);
  return bad(`use a duration from ${leastMs / 1000}s to 3650d, e.g. 7d`);
}

function parseDurations(text: string): Parsed<readonly number[]> {
  const waits: number[] = [];
  for (const item of splitList(text)) {
    const ms = parseDuration(item);
    if (ms === null) return bad(`"${item}" is not a duration; use e.g. 1s,2s,5m`);
    waits.push(ms);
  }
  return waits.length === 0 ? bad('use at least one wait, e.g. 1s,2s,5s') : good(waits);
}

function parseRoutes(text: string): Parsed<readonly RouteTarget[]> {
  const routes: RouteTarget[] = [];
  for (const item of splitList(text)) {
    const route = parseRouteTarget(item);
    if (route === null) {
      return bad(
        'use sandbox, mx, pool:NAME, smtp://user:password@host:port or smtps://host:port, with special characters of a password percent-encoded (%2C for a comma, %25 for a percent sign)',
      );
    }
    routes.push(route);
  }
  return routes.length === 0 ? bad('use sandbox, mx or a relay such as smtp://127.0.0.1:2525') : good(routes);
}

function readFile(path: string, problems: string[]): Readonly<Record<string, unknown>> {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    const choose = 'or choose another folder with --data';
    if (code === 'ENOTDIR') problems.push(`${dirname(path)} is not a folder; remove it, ${choose}`);
    else if (code === 'EACCES')
      problems.push(`${path}: permission denied; run as the user that owns the data folder, ${choose}`);
    else if (code !== 'ENOENT') problems.push(`${path}: ${(cause as Error).message}`);
    return {};
  }
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
      return value as Record<string, unknown>;
    }
    problems.push(`${path}: must hold one JSON object`);
  } catch (cause) {
    problems.push(`${path}: is not JSON (${(cause as Error).message})`);
  }
  return {};
}

function defaultHostname(): string {
  const name = systemHostname().toLowerCase();
  return /^[a-z0-9.-]+$/.test(name) ? name : 'localhost';
}
