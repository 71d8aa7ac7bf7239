/**
 * Facts of a request, read from Fastify's object: headers, query, body, client address, path; and which methods a
 * path has. Pure. A finished HTTP/2 request no longer has an address, so app.ts keeps it from the beginning.
 */
import { forwardedIp, plainIp } from '../../lib/loopback.ts';
import type { Caller } from '../../model/submission.ts';
import { networkKey } from '../../policy/access/failed-logins.ts';
import { sharersOf } from '../../policy/access/rights.ts';
import { METADATA_PREFIX } from './route.ts';

/** Of Fastify's request. */
interface Given {
  url: string;
  headers: NodeJS.Dict<string | string[]>;
  params: unknown;
  query: unknown;
  body: unknown;
  ip?: string;
  socket?: { remoteAddress?: string | undefined };
  from: { ip: string } | null;
}

const NO_BODY = new Uint8Array(0);

/** The parts of a request that operations read. */
export function contextOf(request: Given) {
  return {
    params: request.params as Readonly<Record<string, string>>,
    query: queryOf(request),
    header: (name: string): string | undefined => {
      const value = request.headers[name];
      return Array.isArray(value) ? value.join(', ') : value;
    },
    body: request.body instanceof Uint8Array ? request.body : NO_BODY,
  };
}

const NO_QUERY: ReadonlyMap<string, string> = new Map();

/** Names in lower case, because clients disagree about them; the first of a repeated one. */
function queryOf(request: Given): ReadonlyMap<string, string> {
  if (!request.url.includes('?')) return NO_QUERY;
  const found = new Map<string, string>();
  for (const [name, value] of Object.entries(request.query as Record<string, string | string[]>)) {
    const lower = name.toLowerCase().startsWith(METADATA_PREFIX)
      ? METADATA_PREFIX + name.slice(METADATA_PREFIX.length)
      : name.toLowerCase();
    const first = Array.isArray(value) ? value[0] : value;
    if (first !== undefined && !found.has(lower)) found.set(lower, first);
  }
  return found;
}

/** Of the client; forwarded addresses of trusted proxies are resolved. */
export function ipOf(request: Given): string {
  return request.from?.ip ?? clientIp(request);
}

/** The same, computed now. The address of the proxy, if that names no client. */
export function clientIp({ ip = '', socket }: Pick<Given, 'ip' | 'socket'>): string {
  return forwardedIp(ip) ?? plainIp(socket?.remoteAddress ?? '');
}

/** The names under which its memory is counted; without a token, its site. */
export function ownerOf(request: { caller: Caller | null; from: { ip: string } | null }): readonly string[] {
  const { caller, from } = request;
  return caller === null ? [`from ${networkKey(from?.ip ?? '')}`] : sharersOf(caller);
}

/** `POST http://host/path` (RFC 9112 §3.2.2) → `/path`. */
export function pathOfAbsoluteForm(url: string): string {
  if (url.charCodeAt(0) === 47) return url;
  const match = /^https?:\/\/[^/?#]*(.*)$/i.exec(url);
  if (match === null) return url;
  const rest = match[1] ?? '';
  return rest.startsWith('/') ? rest : `/${rest}`;
}

/** The methods of an existing path, as `Allow` lists them; otherwise null. */
export function createMethodTable(
  routes: readonly { method: string; path: string; endless?: boolean | undefined }[],
): (url: string) => string | null {
  const known = routes.map(({ method, path, endless }) => ({
    method,
    hasHead: method === 'GET' && endless !== true,
    segments: path.split('/').filter(Boolean),
  }));
  return (url) => {
    const segments = (url.split('?', 1)[0] ?? '').split('/').filter(Boolean);
    const methods = new Set<string>();
    for (const route of known) {
      if (route.segments.length !== segments.length) continue;
      if (!route.segments.every((segment, i) => segment.startsWith(':') || segment === segments[i])) continue;
      methods.add(route.method);
      if (route.hasHead) methods.add('HEAD');
    }
    return methods.size === 0 ? null : [...methods].sort().join(', ');
  };
}
