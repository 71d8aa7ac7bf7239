/**
 * The first pass over a template: text and tags. Takes the source of one part; returns tokens with their offsets, or
 * throws the first mistake. One linear pass: every search either finds its end or ends the scan. A section or comment
 * tag alone on its line removes the whole line, so that loops leave no blank lines.
 */
import { TEMPLATE_LIMITS } from './limits.ts';
import { TemplateError, type TemplatePart } from './template-error.ts';

/** The content of a tag: a value by name, a loop variable, or a fixed text. */
export type Expression =
  /** Without names: the current item, `.`. */
  | { kind: 'path'; text: string; names: readonly string[] }
  | { kind: 'loop'; text: string; fact: 'index' | 'number' | 'first' | 'last' }
  | { kind: 'literal'; text: string; value: string };

export type Token =
  | { kind: 'text'; text: string; at: number }
  | { kind: 'variable'; expression: Expression; raw: boolean; fallback: string | null; at: number }
  | { kind: 'section'; expression: Expression; inverted: boolean; at: number }
  | { kind: 'close'; text: string; at: number };

const NAME = /^[\p{L}\p{N}_$-]{1,64}$/u;
const LOOP_FACTS = new Map([
  ['@index', 'index'],
  ['@number', 'number'],
  ['@first', 'first'],
  ['@last', 'last'],
] as const);
const FOREIGN_HELPER = /^(if|each|unless|with)\s+(\S+)$/;

/** The tokens of one part. Throws TemplateError. */
export function scan(source: string, part: TemplatePart): readonly Token[] {
  const tokens: Token[] = [];
  let at = 0;
  let tags = 0;
  while (at < source.length) {
    const start = source.indexOf('{{', at);
    if (start < 0) break;
    if (++tags > TEMPLATE_LIMITS.maxTags) {
      throw fail('limit', `A part may have at most ${TEMPLATE_LIMITS.maxTags} tags`, start);
    }
    const tag = readTag(start);
    const alone = tag.token === null || tag.token.kind === 'section' || tag.token.kind === 'close';
    const line = alone ? wholeLine(source, at, start, tag.end) : null;
    addText(at, line?.from ?? start);
    if (tag.token !== null) tokens.push(tag.token);
    at = line?.to ?? tag.end;
  }
  addText(at, source.length);
  return tokens;

  function addText(from: number, to: number): void {
    if (to > from) tokens.push({ kind: 'text', text: source.slice(from, to), at: from });
  }

  function fail(kind: 'syntax' | 'limit', message: string, where: number): TemplateError {
    return new TemplateError(kind, message, { part, source, at: where });
  }

  function readTag(start: number): { token: Token | null; end: number } {
    const sigil = source[start + 2] ?? '';
    if (sigil === '!') return { token: null, end: commentEnd(start) };
    if (sigil === '>') throw fail('syntax', 'Templates cannot include other templates', start);
    if (sigil === '=') throw fail('syntax', 'The delimiters {{ and }} cannot be changed', start);
    if (sigil === '{') {
      const close = tagEnd(start, start + 3);
      if (source[close + 2] !== '}') throw fail('syntax', 'A tag that begins with {{{ ends with }}}', start);
      return { token: variable(source.slice(start + 3, close), true, start), end: close + 3 };
    }
    const close = tagEnd(start, start + 2);
    const inner = source.slice(start + 2, close);
    return { token: plainTag(sigil, inner, start), end: close + 2 };
  }

  function plainTag(sigil: string, inner: string, start: number): Token {
    switch (sigil) {
      case '#':
      case '^': {
        const text = inner.slice(1).trim();
        const [, helper, name] = FOREIGN_HELPER.exec(text) ?? [];
        if (helper !== undefined) {
          const sign = helper === 'unless' ? '^' : '#';
          const message = `There is no "${helper}": write {{${sign}${name}}} … {{/${name}}}`;
          throw fail('syntax', message, start);
        }
        return { kind: 'section', expression: expression(text, start), inverted: sigil === '^', at: start };
      }
      case '/':
        return { kind: 'close', text: inner.slice(1).trim(), at: start };
      case '&':
        return variable(inner.slice(1), true, start);
      default:
        return variable(inner, false, start);
    }
  }

  /** Offset of the closing braces; those inside a quoted text do not count. */
  function tagEnd(start: number, from: number): number {
    const stop = Math.min(source.length, from + TEMPLATE_LIMITS.maxTagChars);
    let quote = '';
    for (let i = from; i < stop; i++) {
      const char = source[i] ?? '';
      if (quote !== '') {
        if (char === '\\') i += 1;
        else if (char === quote) quote = '';
      } else if (char === '"' || char === "'") quote = char;
      else if (char === '}' && source[i + 1] === '}') return i;
      else if (char === '{' && source[i + 1] === '{') break;
    }
    if (quote !== '') throw fail('syntax', 'A quoted text in this tag is not closed', start);
    if (stop < source.length && stop === from + TEMPLATE_LIMITS.maxTagChars) {
      throw fail('limit', `A tag may have at most ${TEMPLATE_LIMITS.maxTagChars} characters`, start);
    }
    throw fail('syntax', 'This tag is not closed with }}; to write two braces as text: {{"{{"}}', start);
  }

  function commentEnd(start: number): number {
    const long = source.startsWith('--', start + 3);
    const mark = long ? '--}}' : '}}';
    const end = source.indexOf(mark, start + (long ? 5 : 3));
    if (end < 0) throw fail('syntax', `This comment is not closed with ${mark}`, start);
    return end + mark.length;
  }

  function variable(inner: string, raw: boolean, start: number): Token {
    const { head, filter } = splitFilter(inner);
    const text = head.trim();
    if (text === 'else') throw fail('syntax', 'There is no "else": write {{^name}} … {{/name}}', start);
    const value = expression(text, start);
    return { kind: 'variable', expression: value, raw, fallback: fallbackOf(filter, start), at: start };
  }

  function fallbackOf(filter: string | null, start: number): string | null {
    if (filter === null) return null;
    const text = /^\s*default\s*:([\s\S]*)$/.exec(filter)?.[1];
    const value = text === undefined ? null : quoted(text.trim());
    if (value === null) {
      throw fail('syntax', 'After | only a default may stand: {{name | default: "friend"}}', start);
    }
    return value;
  }

  function expression(text: string, start: number): Expression {
    if (text === '.') return { kind: 'path', text, names: [] };
    const fact = LOOP_FACTS.get(text as '@index');
    if (fact !== undefined) return { kind: 'loop', text, fact };
    const literal = quoted(text);
    if (literal !== null) return { kind: 'literal', text, value: literal };
    if (text === '') throw fail('syntax', 'This tag names nothing', start);
    const names = text.split('.');
    if (names.length > TEMPLATE_LIMITS.maxPathNames) {
      throw fail('limit', `A path may have at most ${TEMPLATE_LIMITS.maxPathNames} names`, start);
    }
    if (names.every((name) => NAME.test(name))) return { kind: 'path', text, names };
    const message = text.startsWith('@')
      ? 'After @ only index, number, first or last may stand'
      : 'A name is made of letters, digits, _, $ and -, with dots between names: {{order.total}}';
    throw fail('syntax', message, start);
  }
}

/** The text before the first | outside quotes, and the text after it. */
function splitFilter(inner: string): { head: string; filter: string | null } {
  let quote = '';
  for (let i = 0; i < inner.length; i++) {
    const char = inner[i] ?? '';
    if (quote !== '') {
      if (char === '\\') i += 1;
      else if (char === quote) quote = '';
    } else if (char === '"' || char === "'") quote = char;
    else if (char === '|') return { head: inner.slice(0, i), filter: inner.slice(i + 1) };
  }
  return { head: inner, filter: null };
}

/** The value of a text in quotes, or null if it is not one. */
function quoted(text: string): string | null {
  const quote = text[0];
  if ((quote !== '"' && quote !== "'") || text.length < 2 || text.at(-1) !== quote) return null;
  let value = '';
  for (let i = 1; i < text.length - 1; i++) {
    const char = text[i] ?? '';
    if (char === quote) return null;
    if (char !== '\\') {
      value += char;
      continue;
    }
    i += 1;
    if (i === text.length - 1) return null;
    value += text[i] === 'n' ? '\n' : text[i];
  }
  return value;
}

/** The line of a tag that is alone on it, including its end; null if there is something else on it. */
function wholeLine(
  source: string,
  after: number,
  start: number,
  end: number,
): { from: number; to: number } | null {
  let from = start;
  while (from > after && isBlank(source.charCodeAt(from - 1))) from -= 1;
  if (from > 0 && source[from - 1] !== '\n') return null;
  let to = end;
  while (to < source.length && isBlank(source.charCodeAt(to))) to += 1;
  if (to === source.length) return from === 0 ? null : { from, to };
  if (source[to] === '\r' && source[to + 1] === '\n') to += 1;
  return source[to] === '\n' ? { from, to: to + 1 } : null;
}

function isBlank(code: number): boolean {
  return code === 32 || code === 9;
}
