/**
 * Whether a request without a token comes from the dashboard of a development server: from a browser on this machine,
 * and from a page that this server sent.
 *
 * A page of another site in the same browser is recognised by `Sec-Fetch-Site` and `Origin`, which no script can set,
 * and by our own header, which another origin cannot send without a CORS preflight. A DNS name that resolves to
 * 127.0.0.1 (DNS rebinding) is recognised by `Host`, and a request through a proxy by its headers, or,
 * if the proxy replaced `Host` and added none, by the `Referer` of the page that the browser shows. Programs on this
 * machine can forge all of these, and so can whoever uses such a proxy on purpose: do not put one before a development
 * server.
 */
import { isLoopbackAddress } from '../../lib/loopback.ts';

/** The script of the dashboard sends it with every request: `idle` where nobody did anything at the page for some minutes. */
export const OWN_HEADER = 'x-postrider-dashboard';

export interface PageRequest {
  method: string;
  /** The address of the socket, whatever headers say. */
  peer: string;
  header(name: string): string | undefined;
}

const PROXY_HEADERS = [
  ...['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'x-forwarded-port'],
  ...['x-forwarded-server', 'x-real-ip', 'true-client-ip', 'cf-connecting-ip', 'via'],
];
/** Names and addresses of this machine, perhaps with a port. */
export const OWN_HOST = /^(?:localhost|127(?:\.[0-9]{1,3}){3}|\[::1\])(?::[0-9]{1,5})?$/i;

/** Whether the request may act without a token. */
export function isOwnPage({ method, peer, header }: PageRequest): boolean {
  const host = header('host') ?? '';
  const origin = header('origin');
  const site = header('sec-fetch-site');
  const marked = header(OWN_HEADER) !== undefined;
  if (!isLoopbackAddress(peer) || !OWN_HOST.test(host)) return false;
  if (PROXY_HEADERS.some((name) => header(name) !== undefined)) return false;
  if (origin !== undefined && origin.toLowerCase() !== `http://${host.toLowerCase()}`) return false;
  if (!isRefererOwn(header('referer'), host)) return false;
  if (site !== undefined && site !== 'same-origin') return false;
  if (method === 'GET' || method === 'HEAD') return site !== undefined || marked;
  return marked && origin !== undefined;
}

/** A page that came through a proxy has the address of the proxy. Frames and links send no referer. */
function isRefererOwn(referer: string | undefined, host: string): boolean {
  return referer === undefined || referer.toLowerCase().startsWith(`http://${host.toLowerCase()}/`);
}
