/**
 * The URL of a PostgreSQL database: `postgres://user:password@host:port,host2/name?sslmode=…`. Reading one gives its
 * parts, or a sentence that says what to write instead, which never repeats the password. Nothing is asked of the server.
 */
import { isLoopbackHost } from './loopback.ts';

/** Where a database is and how it is reached. */
export interface PostgresAddress {
  /** Tried in this order; a host that begins with `/` is the folder of a socket. */
  hosts: readonly { host: string; port: number }[];
  user: string;
  /** null: the URL has none. */
  password: string | null;
  database: string;
  /**
   * `disable`: without TLS. `require`: with it, whatever the certificate is, as everywhere with PostgreSQL. `verify-ca`:
   * one that `rootCertificate` has signed; `verify-full`: one that is for this host, too.
   */
  tls: (typeof TLS_MODES)[number];
  /** Files in PEM. */
  rootCertificate: string | null;
  certificate: string | null;
  key: string | null;
}

type Read = { ok: true; address: PostgresAddress } | { ok: false; fix: string };

const TLS_MODES = ['disable', 'require', 'verify-ca', 'verify-full'] as const;
const PARAMETERS = ['host', 'sslmode', 'sslrootcert', 'sslcert', 'sslkey'] as const;
const USUAL_PORT = 5432;
const FORM = 'use postgres://user:password@host:port/database';
/** The password may contain `@`, `:`: the last `@` before the first slash ends it. */
const URL_PARTS = /^postgres(?:ql)?:\/\/(?:([^/?#]*)@)?([^@/?#]*)\/([^/?#]*)(?:\?([^#]*))?$/;
const LOGIN = /:\/\/([^/?#]*)@/;

/** Whether a text is meant as such a URL. */
export function isPostgresUrl(text: string): boolean {
  return /^postgres(?:ql)?:/.test(text);
}

export function readPostgresUrl(text: string): Read {
  const parts = URL_PARTS.exec(text);
  if (parts === null) {
    return wrong(
      text.includes('@')
        ? `${FORM}, with @ : / ? # of the password written as %40 %3A %2F %3F %23, or the password in database-password`
        : FORM,
    );
  }
  const [, login = '', places = '', name = '', query = ''] = parts;
  try {
    const colon = login.indexOf(':');
    const user = decodeURIComponent(colon < 0 ? login : login.slice(0, colon));
    const password = colon < 0 ? '' : decodeURIComponent(login.slice(colon + 1));
    const database = decodeURIComponent(name);
    if (user === '') return wrong(`${FORM}: the user is missing`);
    if (database === '') return wrong(`${FORM}: the name of the database is missing`);
    const given = parameters(query);
    if (typeof given === 'string') return wrong(given);
    const hosts = hostsOf(given.get('host') ?? decodeHosts(places), places);
    if (hosts === null) return wrong(`${FORM}: the host is missing, or its port is not a number`);
    const tls = given.get('sslmode') ?? (hosts.every(isNear) ? 'disable' : 'require');
    if (!isTlsMode(tls)) return wrong(`sslmode can be ${TLS_MODES.join(', ')}`);
    const [certificate, key] = [given.get('sslcert') ?? null, given.get('sslkey') ?? null];
    if ((certificate === null) !== (key === null)) return wrong('sslcert and sslkey belong together');
    const rootCertificate = given.get('sslrootcert') ?? null;
    if (tls === 'verify-ca' && rootCertificate === null)
      return wrong('sslmode=verify-ca needs sslrootcert=FILE, or use verify-full');
    return {
      ok: true,
      address: {
        ...{ hosts, user, password: password === '' ? null : password, database },
        // A root that is named is there to be checked.
        tls: tls === 'require' && rootCertificate !== null ? 'verify-ca' : tls,
        ...{ rootCertificate, certificate, key },
      },
    };
  } catch {
    return wrong(`${FORM}, with % written as %25`);
  }
}

/** The same URL with a password, where it has none. `url`: one that can be read. */
export function withPassword(url: string, password: string): string {
  const read = readPostgresUrl(url);
  if (!read.ok || read.address.password !== null) return url;
  return url.replace(LOGIN, (_, login: string) => {
    const user = login.endsWith(':') ? login.slice(0, -1) : login;
    return `://${user}:${encodeURIComponent(password)}@`;
  });
}

/** The URL without its password, for people; of one that cannot be read, nothing. */
export function shownPostgresUrl(text: string): string {
  const read = readPostgresUrl(text);
  if (!read.ok) return 'postgres://(hidden)';
  if (read.address.password === null) return text;
  return text.replace(LOGIN, (_, login: string) => `://${login.slice(0, login.indexOf(':'))}:(secret)@`);
}

/** The URL as somebody writes it who gives the password elsewhere. `url`: one that can be read. */
export function withoutPassword(url: string): string {
  return url.replace(LOGIN, (_, login: string) => `://${login.split(':', 1)[0]}@`);
}

function wrong(fix: string): { ok: false; fix: string } {
  return { ok: false, fix };
}

function parameters(query: string): ReadonlyMap<string, string> | string {
  const given = new Map<string, string>();
  for (const part of query.split('&')) {
    if (part === '') continue;
    const equals = part.indexOf('=');
    const name = equals < 0 ? part : part.slice(0, equals);
    if (!(PARAMETERS as readonly string[]).includes(name)) {
      const shown = /^\w{1,40}$/.test(name) ? ` ${name}` : ' a parameter';
      return `leave${shown} out of the URL: it can have ${PARAMETERS.join(', ')}`;
    }
    given.set(name, decodeURIComponent(equals < 0 ? '' : part.slice(equals + 1)));
  }
  return given;
}

/** `a:1,b,[::1]:3`; a parameter `host` names folders or hosts instead, whose port may stand in the URL. */
function hostsOf(named: readonly string[] | string, places: string): { host: string; port: number }[] | null {
  if (typeof named === 'string') {
    const match = /^[^:,]*(?::(\d{1,5}))?$/.exec(places);
    const port = match === null ? Number.NaN : Number(match[1] ?? USUAL_PORT);
    if (named === '' || !isPort(port)) return null;
    return named.split(',').map((host) => ({ host, port }));
  }
  const hosts = named.map((place) => {
    const match = /^(?:\[([0-9a-f:.]+)\]|([^:[\]]+))(?::(\d{1,5}))?$/i.exec(place);
    const port = match?.[3] === undefined ? USUAL_PORT : Number(match[3]);
    const host = match?.[1] ?? match?.[2];
    return host === undefined || !isPort(port) ? null : { host, port };
  });
  return hosts.every((one) => one !== null) ? hosts : null;
}

function decodeHosts(places: string): string[] {
  return places.split(',').map((place) => decodeURIComponent(place));
}

function isPort(port: number): boolean {
  return port >= 1 && port <= 65_535;
}

function isTlsMode(text: string): text is PostgresAddress['tls'] {
  return (TLS_MODES as readonly string[]).includes(text);
}

/** Nobody else reads what is sent there. */
function isNear({ host }: { host: string }): boolean {
  return host.startsWith('/') || isLoopbackHost(host);
}
