/**
 * Whether a request without a token comes from the dashboard of a development server: from a browser on this machine, and
 * from a page that this very server sent. Given what the request says of itself; pure.
 *
 * Another site in the same browser is told by `Sec-Fetch-Site` and `Origin`, which no script can set, and by a header of our
 * own, which another origin may not send unasked (CORS). A name that was made to lead to 127.0.0.1 (DNS rebinding) is
 * told by `Host`. Who passed a proxy is told by its headers. Programs on this machine can say all of it: a development server
 * trusts them, as it does by SMTP.
 */

/** The dashboard's script sends it with every request. */
export const OWN_HEADER = 'x-postrider-dashboard';

export interface PageRequest {
  method: string;
  /** Of the socket, whatever a header says. */
  peer: string;
  header(name: string): string | undefined;
}

const PROXY_HEADERS = [
  ...['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'x-forwarded-port'],
  ...['x-forwarded-server', 'x-real-ip', 'true-client-ip', 'cf-connecting-ip', 'via'],
];
const OWN_HOST = /^(?:localhost|127(?:\.[0-9]{1,3}){3}|\[::1\])(?::[0-9]{1,5})?$/i;

/** True where the request may act without a token. */
export function isOwnPage({ method, peer, header }: PageRequest): boolean {
  const host = header('host') ?? '';
  const origin = header('origin');
  const site = header('sec-fetch-site');
  const marked = header(OWN_HEADER) !== undefined;
  if (!isLoopbackPeer(peer) || !OWN_HOST.test(host)) return false;
  if (PROXY_HEADERS.some((name) => header(name) !== undefined)) return false;
  if (origin !== undefined && origin.toLowerCase() !== `http://${host.toLowerCase()}`) return false;
  if (site !== undefined && site !== 'same-origin') return false;
  if (method === 'GET' || method === 'HEAD') return site !== undefined || marked;
  return marked && origin !== undefined;
}

function isLoopbackPeer(peer: string): boolean {
  const plain = peer.startsWith('::ffff:') ? peer.slice(7) : peer;
  return plain === '::1' || plain.startsWith('127.');
}
