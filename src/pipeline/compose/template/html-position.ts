/**
 * The position of a template tag in HTML. A small tokenizer (HTML §13.2.5) gets the literal text of a template piece by
 * piece and returns, between two pieces, how a value must be escaped there, or why none is possible there. States: text
 * · title/textarea · script, style and similar · comment · inside a tag · attribute name · attribute value (double,
 * single, no quotes). One step per character. An attribute that begins with a value and has no quotes gets them, so
 * that an empty value cannot change the meaning of what follows.
 */
import { NO_HOST, NO_SCHEME, type ValuePosition } from './escape.ts';
import { afterValue, joinUrlStates, nextUrlState, URL_START, type UrlState } from './url-position.ts';

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

interface State {
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

const RCDATA = new Set(['title', 'textarea']);
const RAW = new Set(['script', 'style', 'xmp', 'iframe', 'noembed', 'noframes', 'plaintext']);
const NO_VALUES_IN = new Set(
  'script style iframe object embed applet frame link meta base animate set animatemotion animatetransform'.split(
    ' ',
  ),
);
const URL_ATTRIBUTES = new Set(
  'href src action formaction background cite poster data longdesc usemap codebase classid profile icon manifest lowsrc dynsrc'.split(
    ' ',
  ),
);
const REFUSED_ATTRIBUTES = new Set(['srcset', 'imagesrcset', 'ping', 'archive', 'srcdoc']);
const MAX_NAME = 64;

/** The end of a literal text that belongs to a URL which continues after it. */
export interface LinkText {
  /** The URL begins here. */
  begins: boolean;
  text: string;
}

/** A sentence with the reason, which becomes an error with its position. */
export type Refusal = { refused: string };

export interface HtmlPosition {
  /** Takes literal text; returns the text to write instead of it. */
  feed(text: string): { text: string; link: LinkText | null } | (Refusal & { offset: number });
  /** How a value is escaped here; `before` is written before it. */
  value(): { place: ValuePosition; before: string } | Refusal;
  /** Why no section may begin or end here, or null. */
  sectionRefusal(): string | null;
  /** The current state, to be restored later. */
  mark(): Readonly<State>;
  restore(mark: Readonly<State>): void;
  /** Joins the state of another way to this point; returns why that is impossible, or null. */
  join(other: Readonly<State>): string | null;
  /** Why the part cannot end here, or null. */
  endRefusal(): string | null;
}

/** At the start of a document. */
export function createHtmlPosition(): HtmlPosition {
  let state: State = {
    mode: 'data',
    element: '',
    isEnd: false,
    attribute: '',
    tail: '',
    seen: 0,
    url: URL_START,
    uncertain: false,
  };

  return {
    feed,
    value,
    sectionRefusal,
    mark: () => ({ ...state }),
    restore(mark) {
      state = { ...mark };
    },
    join,
    endRefusal() {
      if (state.mode === 'given-quotes') return 'The HTML ends inside an attribute; close the tag with >';
      return null;
    },
  };

  function feed(text: string): { text: string; link: LinkText | null } | (Refusal & { offset: number }) {
    let out = '';
    let copied = 0;
    let begins = false;
    let linkFrom = 0;
    for (let i = 0; i < text.length; i++) {
      const char = text[i] ?? '';
      if (state.mode === 'data') {
        // Most of a template is text: continue at the next tag.
        const next = text.indexOf('<', i);
        if (next < 0) break;
        i = next;
        state.mode = 'tag-open';
        continue;
      }
      if (state.mode === 'given-quotes') {
        const ends = isSpace(char) || char === '>';
        if (ends || char === '"') {
          out += text.slice(copied, i) + (ends ? '"' : '&quot;');
          copied = ends ? i : i + 1;
        }
      }
      const beforeValue = state.mode === 'before-value';
      const refused = step(char);
      if (refused !== null) return { refused, offset: i };
      if (beforeValue && inValue(state.mode)) {
        begins = true;
        linkFrom = state.mode === 'unquoted' ? i : i + 1;
      }
    }
    const isOpen = inValue(state.mode) && isUrl(state.attribute);
    return {
      text: out + text.slice(copied),
      link: isOpen ? { begins, text: text.slice(linkFrom) } : null,
    };
  }

  function step(char: string): string | null {
    switch (state.mode) {
      case 'data':
        if (char === '<') state.mode = 'tag-open';
        return null;
      case 'tag-open':
        return tagOpen(char);
      case 'end-tag-open':
        if (isLetter(char)) return beginTag(char, true);
        state.mode = char === '>' ? 'data' : 'bogus';
        return null;
      case 'tag-name':
        if (isSpace(char) || char === '/') state.mode = 'in-tag';
        else if (char === '>') endTag();
        else state.element = grown(state.element, char);
        return null;
      case 'in-tag':
        if (char === '>') endTag();
        else if (!isSpace(char) && char !== '/') {
          state.mode = 'attribute-name';
          state.attribute = char.toLowerCase();
        }
        return null;
      case 'attribute-name':
        if (isSpace(char)) state.mode = 'after-name';
        else if (char === '/') state.mode = 'in-tag';
        else if (char === '>') endTag();
        else if (char === '=') state.mode = 'before-value';
        else state.attribute = grown(state.attribute, char);
        return null;
      case 'after-name':
        if (isSpace(char)) return null;
        if (char === '=') state.mode = 'before-value';
        else if (char === '/') state.mode = 'in-tag';
        else if (char === '>') endTag();
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
        else if (char === '>') endTag();
        else {
          state.mode = 'unquoted';
          return valueChar(char);
        }
        return null;
      case 'double':
        if (char === '"') state.mode = 'in-tag';
        else return valueChar(char);
        return null;
      case 'single':
        if (char === "'") state.mode = 'in-tag';
        else return valueChar(char);
        return null;
      case 'unquoted':
      case 'given-quotes':
        if (isSpace(char)) state.mode = 'in-tag';
        else if (char === '>') endTag();
        else return valueChar(char);
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
        comment(char);
        return null;
      case 'bogus':
        if (char === '>') state.mode = 'data';
        return null;
      case 'raw':
        raw(char);
        return null;
    }
  }

  function tagOpen(char: string): string | null {
    if (isLetter(char)) return beginTag(char, false);
    if (char === '/') state.mode = 'end-tag-open';
    else if (char === '!') state.mode = 'markup';
    else if (char === '?') state.mode = 'bogus';
    else if (char !== '<') state.mode = 'data';
    return null;
  }

  function beginTag(char: string, isEnd: boolean): null {
    state = { ...state, mode: 'tag-name', element: char.toLowerCase(), isEnd, attribute: '' };
    return null;
  }

  function endTag(): void {
    const { element, isEnd } = state;
    state.mode = !isEnd && (RCDATA.has(element) || RAW.has(element)) ? 'raw' : 'data';
    state.tail = '';
    state.attribute = '';
  }

  /** HTML §13.2.5.43–52: a comment ends with -->, --!>, or at once with > and ->. */
  function comment(char: string): void {
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

  function raw(char: string): void {
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

  function valueChar(char: string): string | null {
    if (!isUrl(state.attribute)) return null;
    const next = nextUrlState(state.url, char);
    if (next === 'colon') {
      return 'What stands before the colon of a link cannot come from a variable: put the whole address into one variable, or write https:// here';
    }
    state.url = next;
    return null;
  }

  function value(): { place: ValuePosition; before: string } | Refusal {
    if (state.uncertain)
      return { refused: 'Where a script with a comment ends is not certain; take the script out' };
    const { mode, element } = state;
    if (mode === 'data') return { place: 'text', before: '' };
    if (mode === 'raw' && RCDATA.has(element) && state.tail === '') return { place: 'rcdata', before: '' };
    if (!inValue(mode) && mode !== 'before-value') return { refused: refusalFor(state) };
    const { attribute, isEnd } = state;
    const why = attributeRefusal(element, attribute, isEnd);
    if (why !== null) return { refused: why };
    const before = mode === 'before-value' ? '"' : '';
    if (mode === 'before-value') {
      state.mode = 'given-quotes';
      state.url = URL_START;
    }
    const form = mode === 'unquoted' ? 'bare' : 'quoted';
    if (attribute === 'style') return { place: `css-${form}`, before };
    if (!isUrl(attribute)) return { place: `attribute-${form}`, before };
    const { place } = state.url;
    if (place === 'refused') return { refused: NO_SCHEME };
    if (place === 'host') return { refused: NO_HOST };
    state.url = afterValue(state.url);
    return { place: `url-${form}`, before };
  }

  function sectionRefusal(): string | null {
    const { mode } = state;
    if (mode === 'data' || mode === 'in-tag' || mode === 'double' || mode === 'single') return null;
    if (mode === 'raw' && RCDATA.has(state.element) && state.tail === '') return null;
    if (mode === 'before-value' || mode === 'unquoted' || mode === 'given-quotes') {
      return 'A section inside an attribute value needs quotes around the value';
    }
    if (mode === 'attribute-name' || mode === 'after-name') {
      return 'Leave a space between an attribute name and a section';
    }
    return refusalFor(state);
  }

  function join(other: Readonly<State>): string | null {
    const same =
      state.mode === other.mode &&
      state.element === other.element &&
      (state.mode === 'data' || state.isEnd === other.isEnd) &&
      (!isValue(state.mode) || state.attribute === other.attribute);
    const inData = state.mode === 'data' && other.mode === 'data';
    if (!same && !inData) {
      return 'This section begins and ends at different places of the HTML; a tag or a quote that opens inside has to close inside';
    }
    const uncertain = state.uncertain || other.uncertain;
    state = { ...state, uncertain, url: joinUrlStates(state.url, other.url) };
    return null;
  }
}

function attributeRefusal(element: string, attribute: string, isEnd: boolean): string | null {
  if (isEnd) return 'No variable may stand in an end tag';
  if (NO_VALUES_IN.has(element)) return `No variable may stand in a <${element}> tag`;
  const local = attribute.slice(attribute.lastIndexOf(':') + 1);
  if (/^on/.test(local)) return `No variable may stand in ${attribute}: it is a script`;
  if (REFUSED_ATTRIBUTES.has(local)) return `No variable may stand in the attribute ${attribute}`;
  return null;
}

function refusalFor(state: State): string {
  switch (state.mode) {
    case 'raw':
      return RCDATA.has(state.element)
        ? 'Leave a space after < in front of a variable'
        : `No tag of a template may stand inside <${state.element}>`;
    case 'comment':
    case 'bogus':
    case 'markup':
    case 'markup-dash':
      return 'No tag of a template may stand inside an HTML comment or declaration; for a note in a template: {{! note }}';
    case 'tag-open':
    case 'end-tag-open':
      return 'A < directly in front of a tag of a template; for the character itself write &lt;';
    case 'tag-name':
      return 'The name of an HTML tag cannot come from a template tag';
    default:
      return 'Names of attributes cannot come from variables; only their values can';
  }
}

function isUrl(attribute: string): boolean {
  return URL_ATTRIBUTES.has(attribute.slice(attribute.lastIndexOf(':') + 1));
}

function inValue(mode: Mode): boolean {
  return isValue(mode) || mode === 'unquoted' || mode === 'given-quotes';
}

function isValue(mode: Mode): boolean {
  return mode === 'double' || mode === 'single';
}

function grown(name: string, char: string): string {
  return name.length < MAX_NAME ? name + char.toLowerCase() : name;
}

function isSpace(char: string): boolean {
  return char === ' ' || char === '\n' || char === '\t' || char === '\r' || char === '\f';
}

function isLetter(char: string): boolean {
  return (char >= 'a' && char <= 'z') || (char >= 'A' && char <= 'Z');
}
