/**
 * The position of the next character within a URL, so that a value cannot become more than its position allows: a whole
 * link, a path, a query. Takes the characters of a URL attribute one by one. It runs twice: over the literal characters
 * when a template is compiled, which finds mistakes that are certain, and over all output when it is rendered, because
 * only then is it known which sections are shown and which values are empty. Only the listed schemes are allowed:
 * `javascript:` and similar ones have no use in mail.
 */

/** Schemes allowed for a link in a template or a variable. */
export const LINK_SCHEMES: ReadonlySet<string> = new Set(['http', 'https', 'mailto', 'tel', 'sms', 'cid']);

/** Schemes followed by a host, with any number of slashes before it (URL Standard §4.4). */
const WITH_HOST: ReadonlySet<string> = new Set(['http', 'https']);

type UrlPlace =
  /** Only blanks so far. */
  | 'start'
  /** Characters that can still become a scheme. */
  | 'word'
  /** At compile time: a value is where the scheme would be; no colon may follow. */
  | 'dynamic'
  /** After one slash at the start; a second one begins a host. */
  | 'slash'
  /** In the host, its port or the name before an @. */
  | 'host'
  | 'path'
  | 'query'
  /** At compile time: depends on the sections shown and the values. */
  | 'mixed'
  /** A scheme that is not allowed, or a beginning written as character references: no value may follow. */
  | 'refused';

export interface UrlState {
  place: UrlPlace;
  /** Characters so far while they can still become a scheme; in the host, '' until its first character. */
  word: string;
}

export const URL_START: UrlState = { place: 'start', word: '' };

const MAX_WORD = 32;

/**
 * The state after one more character; 'colon' if it would complete a scheme that a value began. `isLiteral`: it is in
 * the template, where `&` begins a character reference; in a value `&` is itself.
 */
export function nextUrlState(state: UrlState, char: string, isLiteral = true): UrlState | 'colon' {
  // Browsers remove these from a URL before they read it (URL Standard §4.4).
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

/** At compile time: the state after a value, which may be empty or contain the host. */
export function afterValue({ place }: UrlState): UrlState {
  if (place === 'start' || place === 'word') return at('dynamic');
  return at(place === 'slash' ? 'mixed' : place);
}

/** At compile time: one state for both ways through a template. */
export function joinUrlStates(a: UrlState, b: UrlState): UrlState {
  if (a.place === b.place && (a.place !== 'word' || a.word === b.word))
    return at(a.place, a.place === 'word' ? a.word : '');
  const places = [a.place, b.place];
  if (places.includes('refused')) return at('refused');
  return at(places.includes('dynamic') ? 'dynamic' : 'mixed');
}

/** The state after the given output. */
export function afterUrlText(state: UrlState, text: string, isLiteral: boolean): UrlState {
  let now = state;
  for (const char of text) {
    // A query can only be followed by a fragment.
    if (now.place === 'query' || now.place === 'refused') break;
    const next = nextUrlState(now, char, isLiteral);
    if (next !== 'colon') now = next;
  }
  return now;
}

function beginUrl(word: string, char: string, isLiteral: boolean): UrlState {
  // A character reference could spell a scheme that is not recognised here.
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
