/**
 * Compiles tokens into a program: sections are nested, literal text is joined, and the position of every value is
 * determined here once, so that rendering only looks it up. Takes one part of a template; returns the program, or
 * throws the first mistake with its line and column.
 */
import type { ValuePosition } from './escape.ts';
import { createHtmlPosition, type HtmlPosition, type LinkText } from './html-position.ts';
import { TEMPLATE_LIMITS } from './limits.ts';
import { type Expression, scan, type Token } from './scan.ts';
import { TemplateError, type TemplatePart } from './template-error.ts';

export type Piece =
  /** `link`: the end of the text, if it belongs to a URL that continues after it. */
  | { kind: 'text'; text: string; link: LinkText | null }
  | { kind: 'value'; expression: Expression; place: ValuePosition; fallback: string | null; at: number }
  | { kind: 'section'; expression: Expression; inverted: boolean; body: readonly Piece[]; at: number };

/** One part, ready to be rendered. */
export interface Program {
  part: TemplatePart;
  /** To find the position of errors. */
  source: string;
  pieces: readonly Piece[];
  /** Names that its tags use, as written, once each. */
  names: readonly string[];
}

interface Open {
  expression: Expression;
  inverted: boolean;
  body: Piece[];
  at: number;
  /** The HTML position before the section. */
  before: ReturnType<HtmlPosition['mark']> | null;
  /** Of the section directly before it, if this is its inverse. */
  otherwise: ReturnType<HtmlPosition['mark']> | null;
}

const MAX_NAMES = 200;

/** Compiles one part. Throws TemplateError. */
export function compilePart(source: string, part: TemplatePart): Program {
  const fail = (kind: 'syntax' | 'limit', message: string, at: number) =>
    new TemplateError(kind, message, { part, source, at });
  checkSize(source, part, fail);
  const html = part === 'html' ? createHtmlPosition() : null;
  const names = new Set<string>();
  const top: Piece[] = [];
  const open: Open[] = [];
  let pieces = top;
  /** The section that has just ended; its inverse may follow directly. */
  let ended: (Open & { after: ReturnType<HtmlPosition['mark']> | null }) | null = null;

  for (const token of scan(source, part)) {
    const before = ended;
    ended = null;
    switch (token.kind) {
      case 'text':
        pieces.push({ kind: 'text', ...literal(token) });
        break;
      case 'variable':
        note(token.expression);
        addValue(token);
        break;
      case 'section':
        note(token.expression);
        beginSection(token, before);
        break;
      case 'close':
        ended = endSection(token);
        break;
    }
  }
  const [unclosed] = open;
  if (unclosed !== undefined) {
    const { text } = unclosed.expression;
    throw fail('syntax', `This section is not closed with {{/${text}}}`, unclosed.at);
  }
  const unfinished = html?.endRefusal() ?? null;
  if (unfinished !== null) throw fail('syntax', unfinished, source.length);
  return { part, source, pieces: top, names: [...names] };

  function note(expression: Expression): void {
    if (expression.kind !== 'path' || expression.names.length === 0 || names.size >= MAX_NAMES) return;
    names.add(expression.text);
  }

  function literal({ text, at }: Extract<Token, { kind: 'text' }>): { text: string; link: LinkText | null } {
    if (html === null) return { text, link: null };
    const fed = html.feed(text);
    if (!('refused' in fed)) return fed;
    throw fail('syntax', fed.refused, at + fed.offset);
  }

  function addValue({ expression, raw, fallback, at }: Extract<Token, { kind: 'variable' }>): void {
    if (html === null) {
      const place = part === 'subject' ? 'subject' : 'plain';
      pieces.push({ kind: 'value', expression, place, fallback, at });
      return;
    }
    const found = html.value();
    if ('refused' in found) throw fail('syntax', found.refused, at);
    if (raw && found.place !== 'text') {
      throw fail('syntax', 'An unescaped value may stand between tags only, not inside one', at);
    }
    if (found.before !== '') {
      pieces.push({ kind: 'text', text: found.before, link: { begins: true, text: '' } });
    }
    pieces.push({ kind: 'value', expression, place: raw ? 'raw' : found.place, fallback, at });
  }

  function beginSection(
    { expression, inverted, at }: Extract<Token, { kind: 'section' }>,
    previous: typeof ended,
  ): void {
    if (open.length >= TEMPLATE_LIMITS.maxDepth) {
      throw fail('limit', `Sections may be at most ${TEMPLATE_LIMITS.maxDepth} deep`, at);
    }
    if (expression.kind === 'literal') throw fail('syntax', 'A section needs a name, not a text', at);
    const counterpart =
      previous !== null &&
      previous.inverted !== inverted &&
      previous.expression.text === expression.text &&
      expression.kind === 'path';
    // Of a section and its inverse exactly one is rendered, so both begin at the same position.
    if (counterpart && previous.before !== null) html?.restore(previous.before);
    checkBoundary(at);
    const body: Piece[] = [];
    const section: Open = {
      expression,
      inverted,
      body,
      at,
      before: html?.mark() ?? null,
      otherwise: counterpart ? previous.after : null,
    };
    open.push(section);
    pieces.push({ kind: 'section', expression, inverted, body, at });
    pieces = body;
  }

  function endSection({ text, at }: Extract<Token, { kind: 'close' }>): typeof ended {
    const section = open.pop();
    if (section === undefined) throw fail('syntax', `No section is open that {{/${text}}} could close`, at);
    if (section.expression.text !== text) {
      const sign = section.inverted ? '^' : '#';
      throw fail(
        'syntax',
        `{{/${text}}} cannot close {{${sign}${section.expression.text}}}: sections close in the order they opened`,
        at,
      );
    }
    checkBoundary(at);
    pieces = open.at(-1)?.body ?? top;
    if (html === null || section.before === null) return { ...section, after: null };
    const after = html.mark();
    const refused = html.join(section.otherwise ?? section.before);
    if (refused !== null) throw fail('syntax', refused, section.at);
    return { ...section, after };
  }

  function checkBoundary(at: number): void {
    const refused = html?.sectionRefusal() ?? null;
    if (refused !== null) throw fail('syntax', refused, at);
  }
}

function checkSize(
  source: string,
  part: TemplatePart,
  fail: (kind: 'syntax' | 'limit', message: string, at: number) => TemplateError,
): void {
  if (part === 'subject') {
    if (source.length > TEMPLATE_LIMITS.maxSubjectChars) {
      throw fail('limit', `A subject may have at most ${TEMPLATE_LIMITS.maxSubjectChars} characters`, 0);
    }
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters that are refused
    const control = source.search(/[\u0000-\u001f\u007f]/);
    if (control >= 0) throw fail('syntax', 'A subject is one line without control characters', control);
  } else if (
    source.length > TEMPLATE_LIMITS.maxSourceBytes ||
    Buffer.byteLength(source) > TEMPLATE_LIMITS.maxSourceBytes
  ) {
    throw fail('limit', `A part may have at most ${TEMPLATE_LIMITS.maxSourceBytes} octets`, 0);
  }
}
