/**
 * Whether a request with a session cookie comes from the dashboard of this server, and how that cookie is written.
 *
 * A page of another site in the same browser is recognised by `Origin` and by our own header, which another origin cannot
 * send without a CORS preflight; SameSite=Strict also keeps the cookie from it. A DNS name that resolves to this server
 * (DNS rebinding) is recognised by `Host`. Passwords and cookies are sent only over https or within this machine.
 */
import { OWN_HEADER, OWN_HOST } from './own-page.ts';

export interface SessionRequest {
  method: string;
  header(name: string): string | undefined;
}

/**
 * The names of the cookie over https, and over http on this machine. Because of the prefix, a browser accepts it only
 * over https and only from this host, and no other host can set it (RFC 6265bis).
 */
const COOKIES = {
  session: ['__Host-postrider', 'postrider-session'],
  /** Used while the browser is at the identity provider. */
  pending: ['__Host-postrider-pending', 'postrider-pending'],
  /** Marks of people who have signed in with this browser. */
  device: ['__Host-postrider-device', 'postrider-device'],
} as const;
type Cookie = keyof typeof COOKIES;
const MAX_COOKIE_CHARS = 8_192;

/** The text of a cookie; null if there is none. */
export function cookieText(cookie: Cookie, { header }: Pick<SessionRequest, 'header'>): string | null {
  const cookies = header('cookie');
  if (cookies === undefined || cookies.length > MAX_COOKIE_CHARS) return null;
  const isLocal = OWN_HOST.test(header('host') ?? '');
  const found = new Map<string, string>();
  for (const pair of cookies.split(';')) {
    const equals = pair.indexOf('=');
    if (equals < 0) continue;
    const name = pair.slice(0, equals).trim();
    if (!found.has(name)) found.set(name, pair.slice(equals + 1).trim());
  }
  const [secure, local] = COOKIES[cookie];
  return found.get(secure) ?? (isLocal ? found.get(local) : undefined) ?? null;
}

/** Whether such a request may use its session. `publicUrl` as configured, undefined = none. */
export function isSessionRequest({ method, header }: SessionRequest, publicUrl: string | undefined): boolean {
  const host = (header('host') ?? '').toLowerCase();
  // Proxies pass the host on with or without the port.
  if (!OWN_HOST.test(host) && host.replace(/:[0-9]{1,5}$/, '') !== hostOf(publicUrl)) return false;
  if (method === 'GET' || method === 'HEAD') return true;
  return header(OWN_HEADER) !== undefined && originsOf(host, publicUrl).includes(header('origin') ?? '');
}

/** `Set-Cookie` with this lifetime; 0 removes the cookie. */
export function setCookie(
  cookie: Cookie,
  text: string,
  maxAgeSeconds: number,
  { header }: Pick<SessionRequest, 'header'>,
): string {
  const isSecure = header('origin')?.startsWith('https://') === true;
  const [secure, local] = COOKIES[cookie];
  const named = isSecure ? `${secure}=${text}; Secure` : `${local}=${text}`;
  return `${named}; Path=/; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Strict`;
}

/** Where the dashboard may be opened: at the public address over https, and on this machine over http. */
function originsOf(host: string, publicUrl: string | undefined): readonly string[] {
  const origins = OWN_HOST.test(host) ? [`http://${host}`] : [];
  if (publicUrl?.startsWith('https://') === true) origins.push(new URL(publicUrl).origin);
  return origins;
}

function hostOf(publicUrl: string | undefined): string | null {
  return publicUrl === undefined ? null : new URL(publicUrl).hostname;
}
