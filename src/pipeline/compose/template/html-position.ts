/**
 * The position of a template tag in HTML. Gets the literal text of a template piece by piece and returns, between two
 * pieces, how a value must be escaped there, or why none is possible there. An attribute that begins with a value and
 * has no quotes gets them, so that an empty value cannot change the meaning of what follows.
 */
import { NO_HOST, NO_SCHEME, type ValuePosition } from './escape.ts';
import {
  HTML_START,
  type HtmlState,
  inValue,
  isSpace,
  isUrl,
  isValue,
  RCDATA,
  step,
} from './html-tokenizer.ts';
import { afterValue, joinUrlStates, URL_START } from './url-position.ts';

const NO_VALUES_IN = new Set(
  'script style iframe object embed applet frame link meta base animate set animatemotion animatetransform'.split(
    ' ',
  ),
);
const REFUSED_ATTRIBUTES = new Set(['srcset', 'imagesrcset', 'ping', 'archive', 'srcdoc']);

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
  mark(): Readonly<HtmlState>;
  restore(mark: Readonly<HtmlState>): void;
  /** Joins the state of another way to this point; returns why that is impossible, or null. */
  join(other: Readonly<HtmlState>): string | null;
  /** Why the part cannot end here, or null. */
  endRefusal(): string | null;
}

/** At the start of a document. */
export function createHtmlPosition(): HtmlPosition {
  let state: HtmlState = { ...HTML_START };

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
      const refused = step(state, char);
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

  function join(other: Readonly<HtmlState>): string | null {
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

function refusalFor(state: HtmlState): string {
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
