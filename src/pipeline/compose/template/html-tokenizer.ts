/**
 * A small tokenizer of HTML (HTML §13.2.5). It gets a document character by character and knows at each where that is.
 * States: text · title/textarea · script, style and similar · comment · inside a tag · attribute name · attribute value
 * (double, single, no quotes; `given-quotes`: those that a value without quotes got).
 */
import { nextUrlState, URL_START, type UrlState } from './url-position.ts';

type Mode =
  | 'data'
  | 'tag-open'
  | 'end-tag-open'
  | 'tag-name'
  | 'in-tag'
  | 'attribute-name'
  | 'after-name'
  | 'before-value'
  | 'double'
  | 'single'
  | 'unquoted'
  | 'given-quotes'
  | 'markup'
  | 'markup-dash'
  | 'comment'
  | 'bogus'
  | 'raw';

export interface HtmlState {
  mode: Mode;
  /** Name of the tag being read, or of the current raw element. */
  element: string;
  isEnd: boolean;
  attribute: string;
  /** The end tag in raw text as far as it was read, or the last characters of a comment. */
  tail: string;
  seen: number;
  url: UrlState;
  /** A comment inside a script: the end of the script is no longer certain. */
  uncertain: boolean;
}

/** At the start of a document. */
export const HTML_START: Readonly<HtmlState> = {
  mode: 'data',
  element: '',
  isEnd: false,
  attribute: '',
  tail: '',
  seen: 0,
  url: URL_START,
  uncertain: false,
};

/** Elements whose content is text without tags, in which values may stand. */
export const RCDATA = new Set(['title', 'textarea']);
const RAW = new Set(['script', 'style', 'xmp', 'iframe', 'noembed', 'noframes', 'plaintext']);
const URL_ATTRIBUTES = new Set(
  'href src action formaction background cite poster data longdesc usemap codebase classid profile icon manifest lowsrc dynsrc'.split(
    ' ',
  ),
);
const MAX_NAME = 64;

/** Changes `state` by one character. Returns why that is impossible, or null. */
export function step(state: HtmlState, char: string): string | null {
  switch (state.mode) {
    case 'data':
      if (char === '<') state.mode = 'tag-open';
      return null;
    case 'tag-open':
      return tagOpen(state, char);
    case 'end-tag-open':
      if (isLetter(char)) return beginTag(state, char, true);
      state.mode = char === '>' ? 'data' : 'bogus';
      return null;
    case 'tag-name':
      if (isSpace(char) || char === '/') state.mode = 'in-tag';
      else if (char === '>') endTag(state);
      else state.element = grown(state.element, char);
      return null;
    case 'in-tag':
      if (char === '>') endTag(state);
      else if (!isSpace(char) && char !== '/') {
        state.mode = 'attribute-name';
        state.attribute = char.toLowerCase();
      }
      return null;
    case 'attribute-name':
      if (isSpace(char)) state.mode = 'after-name';
      else if (char === '/') state.mode = 'in-tag';
      else if (char === '>') endTag(state);
      else if (char === '=') state.mode = 'before-value';
      else state.attribute = grown(state.attribute, char);
      return null;
    case 'after-name':
      if (isSpace(char)) return null;
      if (char === '=') state.mode = 'before-value';
      else if (char === '/') state.mode = 'in-tag';
      else if (char === '>') endTag(state);
      else {
        state.mode = 'attribute-name';
        state.attribute = char.toLowerCase();
      }
      return null;
    case 'before-value':
      if (isSpace(char)) return null;
      state.url = URL_START;
      if (char === '"') state.mode = 'double';
      else if (char === "'") state.mode = 'single';
      else if (char === '>') endTag(state);
      else {
        state.mode = 'unquoted';
        return valueChar(state, char);
      }
      return null;
    case 'double':
      if (char === '"') state.mode = 'in-tag';
      else return valueChar(state, char);
      return null;
    case 'single':
      if (char === "'") state.mode = 'in-tag';
      else return valueChar(state, char);
      return null;
    case 'unquoted':
    case 'given-quotes':
      if (isSpace(char)) state.mode = 'in-tag';
      else if (char === '>') endTag(state);
      else return valueChar(state, char);
      return null;
    case 'markup':
      if (char === '-') state.mode = 'markup-dash';
      else if (char === '>') state.mode = 'data';
      else state.mode = 'bogus';
      return null;
    case 'markup-dash':
      state.tail = '';
      state.seen = 0;
      if (char === '-') state.mode = 'comment';
      else state.mode = char === '>' ? 'data' : 'bogus';
      return null;
    case 'comment':
      comment(state, char);
      return null;
    case 'bogus':
      if (char === '>') state.mode = 'data';
      return null;
    case 'raw':
      raw(state, char);
      return null;
  }
}

function tagOpen(state: HtmlState, char: string): string | null {
  if (isLetter(char)) return beginTag(state, char, false);
  if (char === '/') state.mode = 'end-tag-open';
  else if (char === '!') state.mode = 'markup';
  else if (char === '?') state.mode = 'bogus';
  else if (char !== '<') state.mode = 'data';
  return null;
}

function beginTag(state: HtmlState, char: string, isEnd: boolean): null {
  state.mode = 'tag-name';
  state.element = char.toLowerCase();
  state.isEnd = isEnd;
  state.attribute = '';
  return null;
}

function endTag(state: HtmlState): void {
  const { element, isEnd } = state;
  state.mode = !isEnd && (RCDATA.has(element) || RAW.has(element)) ? 'raw' : 'data';
  state.tail = '';
  state.attribute = '';
}

/** HTML §13.2.5.43–52: a comment ends with -->, --!>, or at once with > and ->. */
function comment(state: HtmlState, char: string): void {
  const { tail, seen } = state;
  const atOnce = seen === tail.length && (tail === '' || tail === '-');
  if (char === '>' && (atOnce || tail.endsWith('--') || tail === '--!')) {
    state.mode = 'data';
    state.tail = '';
    return;
  }
  state.tail = (tail + char).slice(-3);
  state.seen += 1;
}

function raw(state: HtmlState, char: string): void {
  const { element, tail } = state;
  const wanted = `</${element}`;
  if (element === 'script' && tail === '<' && char === '!') state.uncertain = true;
  if (tail === wanted && (isSpace(char) || char === '/' || char === '>')) {
    state.isEnd = true;
    state.tail = '';
    state.mode = char === '>' ? 'data' : 'in-tag';
    return;
  }
  const longer = tail + char.toLowerCase();
  if (tail !== wanted && wanted.startsWith(longer) && element !== 'plaintext') state.tail = longer;
  else state.tail = char === '<' ? '<' : '';
}

function valueChar(state: HtmlState, char: string): string | null {
  if (!isUrl(state.attribute)) return null;
  const next = nextUrlState(state.url, char);
  if (next === 'colon') {
    return 'What stands before the colon of a link cannot come from a variable: put the whole address into one variable, or write https:// here';
  }
  state.url = next;
  return null;
}

export function isUrl(attribute: string): boolean {
  return URL_ATTRIBUTES.has(attribute.slice(attribute.lastIndexOf(':') + 1));
}

export function inValue(mode: Mode): boolean {
  return isValue(mode) || mode === 'unquoted' || mode === 'given-quotes';
}

export function isValue(mode: Mode): boolean {
  return mode === 'double' || mode === 'single';
}

function grown(name: string, char: string): string {
  return name.length < MAX_NAME ? name + char.toLowerCase() : name;
}

export function isSpace(char: string): boolean {
  return char === ' ' || char === '\n' || char === '\t' || char === '\r' || char === '\f';
}

function isLetter(char: string): boolean {
  return (char >= 'a' && char <= 'z') || (char >= 'A' && char <= 'Z');
}
