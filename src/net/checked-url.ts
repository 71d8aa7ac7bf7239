/**
 * Reads a URL that somebody else chose, as far as it can be judged without asking DNS.
 * Given the text and what is allowed, it leaves the parts a connection needs, or why the URL is refused. The host is
 * taken as the URL standard reads it, so `0x7f.1` and `2130706433` are already 127.0.0.1 here, and a host that is an
 * address meets the address filter at once: no look-up will ever happen that could catch it later.
 */
import type { AddressCheck } from './address-filter.ts';
import { isHostName } from './dns-name.ts';

/** When plain HTTP may be used: never, to networks the operator listed, or always. */
export type AllowHttp = 'never' | 'listed-networks' | 'always';

export interface CheckedUrl {
  isTls: boolean;
  /** A name in lower case without trailing dot, or an address without brackets. */
  host: string;
  isAddress: boolean;
  port: number;
  /** Path and query, starting with `/`. */
  path: string;
  /** For the Host header: the port only where it is not the scheme's own. */
  hostHeader: string;
}

export type UrlVerdict =
  | { kind: 'ok'; url: CheckedUrl }
  /** `detail`: a sentence without the URL, fit for an API error. */
  | { kind: 'refused'; detail: string };

const MAX_URL_CHARACTERS = 2048;
/**
 * The same for every address that is refused, whatever it is and however it was found, and for a name without one: who may
 * name a URL must not learn which names a private network has and what they lead to, or which addresses are this server's.
 */
export const FORBIDDEN = 'The URL leads to no address that may be called.';
export const NEEDS_TLS = 'The URL must use https: its address is in none of the listed networks.';

/**
 * Refuses what is no absolute http(s) URL with a host, over 2,048 characters, holds user information, blanks,
 * controls or backslashes, names a forbidden address, or uses plain HTTP where `allowHttp` forbids it. For a name
 * and `listed-networks` only the addresses can tell, so that is left to the call.
 */
export function checkUrl(text: string, filter: AddressCheck, allowHttp: AllowHttp): UrlVerdict {
  if (text.length > MAX_URL_CHARACTERS)
    return refused(`The URL is longer than ${MAX_URL_CHARACTERS} characters.`);
  // The URL standard drops tabs and newlines and turns `\` into `/`: nothing that needs that is meant well.
  if (hasBlankOrControl(text))
    return refused('The URL has a blank, a control character or a backslash in it.');
  const authority = /^https?:\/\/([^/?#]+)/i.exec(text)?.[1];
  if (authority === undefined) return refused('The URL must start with https:// or http:// and a host.');
  if (authority.includes('@')) return refused('The URL must not hold a user name or password.');
  if (!URL.canParse(text)) return refused('The URL cannot be read.');
  const url = new URL(text);
  const isTls = url.protocol === 'https:';
  if (!isTls && allowHttp === 'never') return refused('The URL must use https.');
  const port = url.port === '' ? (isTls ? 443 : 80) : Number(url.port);
  if (port === 0) return refused('Port 0 cannot be connected to.');
  const bracketed = url.hostname.startsWith('[');
  const isAddress = bracketed || /^\d+\.\d+\.\d+\.\d+$/.test(url.hostname);
  const host = bracketed ? url.hostname.slice(1, -1) : url.hostname.replace(/\.$/, '');
  if (isAddress) {
    const verdict = filter.check(host);
    if (!verdict.allowed) return refused(FORBIDDEN);
    if (!isTls && allowHttp === 'listed-networks' && !verdict.listed) {
      return refused(NEEDS_TLS);
    }
  } else if (!isHostName(host)) {
    return refused('The host of the URL is not a name that DNS can hold.');
  }
  const shownHost = bracketed ? `[${host}]` : host;
  return {
    kind: 'ok',
    url: {
      isTls,
      host,
      isAddress,
      port,
      path: url.pathname + url.search,
      hostHeader: url.port === '' ? shownHost : `${shownHost}:${port}`,
    },
  };
}

function hasBlankOrControl(text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code <= 0x20 || code === 0x5c || (code >= 0x7f && code <= 0xa0)) return true;
  }
  return false;
}

function refused(detail: string): UrlVerdict {
  return { kind: 'refused', detail };
}
