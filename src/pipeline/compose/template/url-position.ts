/**
 * Where in an address a value stands, so that it cannot become more than its place allows: a whole link, a host, a path,
 * a query. Given the literal characters of a URL attribute one by one and where values come between them; leaves the
 * place of the next value. Schemes beyond a short list are refused: `javascript:` and its like have no use in mail.
 */

/** Schemes that a link in a template or a variable may have. */
export const LINK_SCHEMES: ReadonlySet<string> = new Set(['http', 'https', 'mailto', 'tel', 'sms', 'cid']);

export type UrlPlace =
  /** Nothing but blanks so far. */
  | 'start'
  /** Literal characters that may still become a scheme. */
  | 'word'
  /** A value stands where the scheme would be; no colon may follow. */
  | 'dynamic'
  /** After one slash at the start; a second one begins a host. */
  | 'slash'
  /** After `https:`; after `https:/`. */
  | 'scheme'
  | 'scheme-slash'
  | 'host'
  | 'path'
  | 'query'
  /** Differs with the sections taken. */
  | 'mixed'
  /** A scheme that is not on the list, or a start written in character references: no value may follow. */
  | 'refused';

export interface UrlState {
  place: UrlPlace;
  /** Literal characters so far, while they may still become a scheme. */
  word: string;
}

const MAX_WORD = 32;

/** The state after one more literal character; 'colon' where it would complete a scheme that a value began. */
export function nextUrlState({ place, word }: UrlState, char: string): UrlState | 'colon' {
  const slash = char === '/' || char === '\\';
  const query = char === '?' || char === '#';
  switch (place) {
    case 'start':
      if (char <= ' ') return { place, word };
      return beginUrl(word, char);
    case 'word':
      return beginUrl(word, char);
    case 'dynamic':
      if (char === ':' || char === '&') return 'colon';
      if (slash) return at('path');
      return at(query ? 'query' : place);
    case 'slash':
      if (slash) return at('host');
      return at(query ? 'query' : 'path');
    case 'scheme':
      if (slash) return at('scheme-slash');
      return at(query ? 'query' : 'path');
    case 'scheme-slash':
      if (slash) return at('host');
      return at(query ? 'query' : 'path');
    case 'host':
      if (slash) return at('path');
      return at(query ? 'query' : place);
    case 'path':
    case 'mixed':
      return at(query ? 'query' : place);
    default:
      return { place, word };
  }
}

/** The state after a value. */
export function afterValue({ place }: UrlState): UrlState {
  if (place === 'start' || place === 'word') return at('dynamic');
  if (place === 'slash') return at('path');
  if (place === 'scheme' || place === 'scheme-slash') return at('path');
  return at(place);
}

/** One state for what either of two ways through a template leaves behind. */
export function joinUrlStates(a: UrlState, b: UrlState): UrlState {
  if (a.place === b.place && a.word === b.word) return a;
  const places = [a.place, b.place];
  if (places.includes('refused')) return at('refused');
  return at(places.includes('dynamic') ? 'dynamic' : 'mixed');
}

function beginUrl(word: string, char: string): UrlState {
  // A character reference could spell a scheme that is not seen as one here.
  if (char === '&') return at('refused');
  if (char === '/' || char === '\\') return at(word === '' ? 'slash' : 'path');
  if (char === '?' || char === '#') return at('query');
  if (char === ':') return at(LINK_SCHEMES.has(word) ? 'scheme' : 'refused');
  if (char <= ' ') return { place: 'word', word };
  return { place: 'word', word: (word + char.toLowerCase()).slice(0, MAX_WORD) };
}

function at(place: UrlPlace): UrlState {
  return { place, word: '' };
}
