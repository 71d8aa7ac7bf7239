/**
 * Where in an address the next character stands, so that a value cannot become more than its place allows: a whole link, a
 * path, a query. Given the characters of a URL attribute one by one, it leaves the place of the next one. It is run twice:
 * over the literal characters when a template is compiled, which finds what is certain to be wrong, and over everything
 * that is written when it is filled in, because only then is it known which sections were taken and which values are
 * empty. Schemes beyond a short list are refused: `javascript:` and its like have no use in mail.
 */

/** Schemes that a link in a template or a variable may have. */
export const LINK_SCHEMES: ReadonlySet<string> = new Set(['http', 'https', 'mailto', 'tel', 'sms', 'cid']);

/** Schemes that a host follows, with any number of slashes in front of it (URL Standard §4.4). */
const WITH_HOST: ReadonlySet<string> = new Set(['http', 'https']);

export type UrlPlace =
  /** Nothing but blanks so far. */
  | 'start'
  /** Characters that may still become a scheme. */
  | 'word'
  /** While compiling: a value stands where the scheme would be; no colon may follow. */
  | 'dynamic'
  /** After one slash at the start; a second one begins a host. */
  | 'slash'
  /** In the host, its port or the name in front of an @. */
  | 'host'
  | 'path'
  | 'query'
  /** While compiling: differs with the sections taken and the values given. */
  | 'mixed'
  /** A scheme that is not on the list, or a start written in character references: no value may follow. */
  | 'refused';

export interface UrlState {
  place: UrlPlace;
  /** Characters so far while they may still become a scheme; in the host, '' until its first character. */
  word: string;
}

export const URL_START: UrlState = { place: 'start', word: '' };

const MAX_WORD = 32;

/**
 * The state after one more character; 'colon' where it would complete a scheme that a value began. `isLiteral`: it stands
 * in the template, where `&` begins a character reference; in a value it is itself.
 */
export function nextUrlState(state: UrlState, char: string, isLiteral = true): UrlState | 'colon' {
  // Browsers take these out of an address before they read it (URL Standard §4.4).
  if (char === '\t' || char === '\n' || char === '\r') return state;
  const { place, word } = state;
  const slash = char === '/' || char === '\\';
  const query = char === '?' || char === '#';
  switch (place) {
    case 'start':
      if (char <= ' ') return state;
      return beginUrl(word, char, isLiteral);
    case 'word':
      return beginUrl(word, char, isLiteral);
    case 'dynamic':
      if (char === ':' || char === '&') return 'colon';
      if (slash) return at('mixed');
      return query ? at('query') : state;
    case 'slash':
      if (char === '&' && isLiteral) return at('refused');
      if (slash) return at('host');
      return at(query ? 'query' : 'path');
    case 'host':
      if (slash) return word === '' ? state : at('path');
      if (query) return at('query');
      return word === '' ? { place, word: char } : state;
    case 'path':
    case 'mixed':
      return query ? at('query') : state;
    default:
      return state;
  }
}

/** While compiling: the state after a value. It may be empty, and it may hold the host. */
export function afterValue({ place }: UrlState): UrlState {
  if (place === 'start' || place === 'word') return at('dynamic');
  return at(place === 'slash' ? 'mixed' : place);
}

/** While compiling: one state for what either of two ways through a template leaves behind. */
export function joinUrlStates(a: UrlState, b: UrlState): UrlState {
  if (a.place === b.place && (a.place !== 'word' || a.word === b.word))
    return at(a.place, a.place === 'word' ? a.word : '');
  const places = [a.place, b.place];
  if (places.includes('refused')) return at('refused');
  return at(places.includes('dynamic') ? 'dynamic' : 'mixed');
}

/** The state after characters that are written. */
export function afterUrlText(state: UrlState, text: string, isLiteral: boolean): UrlState {
  let now = state;
  for (const char of text) {
    // Nothing but the fragment follows a query.
    if (now.place === 'query' || now.place === 'refused') break;
    const next = nextUrlState(now, char, isLiteral);
    if (next !== 'colon') now = next;
  }
  return now;
}

function beginUrl(word: string, char: string, isLiteral: boolean): UrlState {
  // A character reference could spell a scheme that is not seen as one here.
  if (char === '&' && isLiteral) return at('refused');
  if (char === '/' || char === '\\') return at(word === '' ? 'slash' : 'path');
  if (char === '?' || char === '#') return at('query');
  if (char === ':') {
    if (!LINK_SCHEMES.has(word)) return at('refused');
    return at(WITH_HOST.has(word) ? 'host' : 'path');
  }
  if (char <= ' ') return { place: 'word', word };
  return { place: 'word', word: (word + char.toLowerCase()).slice(0, MAX_WORD) };
}

function at(place: UrlPlace, word = ''): UrlState {
  return { place, word };
}
