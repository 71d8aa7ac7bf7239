/**
 * Checks a URL that somebody else chose, as far as that is possible without DNS. Returns the parts that a connection
 * needs, or why the URL is refused. The host is read according to the URL standard, so `0x7f.1` and `2130706433` are
 * already 127.0.0.1 here, and a host that is an address is checked by the address filter at once, because there will be
 * no look-up that could find it later.
 */
import type { AddressCheck } from './address-filter.ts';
import { isHostName } from './dns-name.ts';

/** When HTTP without TLS may be used: never, to networks that the operator listed, or always. */
export type AllowHttp = 'never' | 'listed-networks' | 'always';

export interface CheckedUrl {
  isTls: boolean;
  /** A name in lower case without trailing dot, or an address without brackets. */
  host: string;
  isAddress: boolean;
  port: number;
  /** Path and query, starting with `/`. */
  path: string;
  /** For the Host header, with the port only if it is not the scheme's default. */
  hostHeader: string;
}

export type UrlVerdict =
  | { kind: 'ok'; url: CheckedUrl }
  /** `detail`: a sentence without the URL, for an API error. */
  | { kind: 'refused'; detail: string };

const MAX_URL_CHARACTERS = 2048;
/**
 * The same sentence for every refused address, however it was found, and for a name without any: whoever may name a URL
 * must not learn which names a private network has, where they lead, or which addresses are this server's.
 */
export const FORBIDDEN =
  'The URL leads to no address that may be called: its host needs a public address, or one that the operator lists in allow-networks.';
export const NEEDS_TLS =
  'The URL must use https: http is for addresses that the operator lists in allow-networks.';

/**
 * Refuses everything that is not an absolute http(s) URL with a host, is over 2,048 characters, contains user
 * information, blanks, control characters or backslashes, names a forbidden address, or uses HTTP where `allowHttp`
 * forbids it. For a name and `listed-networks`, only the addresses can decide, so the call checks that.
 */
export function checkUrl(text: string, filter: AddressCheck, allowHttp: AllowHttp): UrlVerdict {
  if (text.length > MAX_URL_CHARACTERS)
    return refused(`The URL is longer than ${MAX_URL_CHARACTERS} characters.`);
  // The URL standard drops tabs and newlines and reads `\` as `/`; a URL that depends on this is refused.
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
