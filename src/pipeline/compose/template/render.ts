/**
 * Renders a program. Takes variables from JSON; returns text, and the names that were used but not found. Only own
 * properties of objects and lists are read, nothing is ever called, and every step, octet and level is counted, so that
 * neither a template nor its variables can use more than the limits.
 *
 * A name is searched for in the current item first, then in the surrounding ones. Undefined, null and '' are empty for
 * a default; undefined, null, false, 0, '' and an empty list are empty for a section.
 */
import type { Piece, Program } from './compile.ts';
import { type Escaped, escapeFor, escapeUrl, NO_SCHEME, type ValuePosition } from './escape.ts';
import type { TemplateLimits } from './limits.ts';
import type { Expression } from './scan.ts';
import { TemplateError } from './template-error.ts';
import { afterUrlText, URL_START } from './url-position.ts';

/** The variables of a template: the members of a JSON object. */
export type Variables = Readonly<Record<string, unknown>>;

interface Frame {
  value: unknown;
  /** Set in a loop. */
  turn: { index: number; count: number } | null;
}

/** Counters over all parts of one template. */
interface Spending {
  steps: number;
  readChars: number;
}

const MAX_MISSING = 100;

/**
 * The rendered part; names that were not found are added to `missing`. Throws TemplateError of the kinds limit and
 * value.
 */
export function renderProgram(
  program: Program,
  variables: Variables,
  limits: TemplateLimits,
  spending: Spending,
  missing: Set<string>,
): string {
  const frames: Frame[] = [{ value: variables, turn: null }];
  const out: string[] = [];
  let length = 0;
  /** The position within the URL being written, and the offset of the last value in it. */
  let url = URL_START;
  let urlValueAt: number | null = null;

  renderAll(program.pieces);
  const text = out.join('');
  if (Buffer.byteLength(text) > limits.maxOutputBytes) throw tooLong(program.source.length);
  return text;

  function renderAll(pieces: readonly Piece[]): void {
    for (const piece of pieces) {
      if (piece.kind === 'text') renderText(piece);
      else if (piece.kind === 'value') renderValue(piece);
      else renderSection(piece);
    }
  }

  function renderText({ text, link }: Extract<Piece, { kind: 'text' }>): void {
    write(text, 0);
    if (link === null) return;
    if (link.begins) urlValueAt = null;
    url = afterUrlText(link.begins ? URL_START : url, link.text, true);
    if (url.place === 'refused' && urlValueAt !== null) throw fail('value', NO_SCHEME, urlValueAt);
  }

  function escaped(place: ValuePosition, text: string, at: number): Escaped {
    if (place !== 'url-quoted' && place !== 'url-bare') return escapeFor(place, text);
    const found = escapeUrl(place, text, url);
    if (found.ok) {
      url = found.url;
      urlValueAt = at;
    }
    return found;
  }

  function renderValue(piece: Extract<Piece, { kind: 'value' }>): void {
    step(piece.at);
    let value = evaluate(piece.expression);
    if (isAbsent(value)) {
      if (piece.fallback === null) {
        if (missing.size < MAX_MISSING) missing.add(piece.expression.text);
        return;
      }
      value = piece.fallback;
    } else if (value === '' && piece.fallback !== null) value = piece.fallback;
    const text = textOf(value, piece.expression.text, piece.at);
    if (text.length > limits.maxValueChars) {
      const message = `${piece.expression.text} has more than ${limits.maxValueChars} characters`;
      throw fail('limit', message, piece.at);
    }
    spending.readChars += text.length;
    if (spending.readChars > limits.maxReadChars) {
      const message = `Filling in reads more than ${limits.maxReadChars} characters of values`;
      throw fail('limit', message, piece.at);
    }
    if (length + text.length > limits.maxOutputBytes) throw tooLong(piece.at);
    const safe = escaped(piece.place, text, piece.at);
    if (!safe.ok) throw fail('value', `${piece.expression.text}: ${safe.why}`, piece.at);
    write(safe.text, piece.at);
  }

  function renderSection(piece: Extract<Piece, { kind: 'section' }>): void {
    step(piece.at);
    const value = evaluate(piece.expression);
    const empty = isEmpty(value);
    if (piece.inverted) {
      if (empty) renderAll(piece.body);
      return;
    }
    if (empty) return;
    if (!Array.isArray(value)) {
      // A loop variable is not an item.
      const own = piece.expression.kind === 'path';
      if (own) frames.push({ value, turn: null });
      renderAll(piece.body);
      if (own) frames.pop();
      return;
    }
    for (let index = 0; index < value.length; index++) {
      step(piece.at);
      frames.push({ value: value[index], turn: { index, count: value.length } });
      renderAll(piece.body);
      frames.pop();
    }
  }

  function evaluate(expression: Expression): unknown {
    if (expression.kind === 'literal') return expression.value;
    if (expression.kind === 'loop') return loopFact(expression.fact);
    const [first, ...rest] = expression.names;
    if (first === undefined) return frames.at(-1)?.value;
    // One step for every eight items or names looked through.
    spending.steps += (frames.length + rest.length) >> 3;
    for (let i = frames.length - 1; i >= 0; i--) {
      const holder = frames[i]?.value;
      if (!hasOwn(holder, first)) continue;
      let value = holder[first];
      for (const name of rest) value = hasOwn(value, name) ? value[name] : undefined;
      return value;
    }
    return undefined;
  }

  function loopFact(fact: Extract<Expression, { kind: 'loop' }>['fact']): unknown {
    for (let i = frames.length - 1; i >= 0; i--) {
      const turn = frames[i]?.turn;
      if (turn === null || turn === undefined) continue;
      if (fact === 'index') return turn.index;
      if (fact === 'number') return turn.index + 1;
      return fact === 'first' ? turn.index === 0 : turn.index === turn.count - 1;
    }
    return undefined;
  }

  function textOf(value: unknown, name: string, at: number): string {
    switch (typeof value) {
      case 'string':
        return value;
      case 'number':
      case 'boolean':
        return String(value);
      default:
        throw fail(
          'value',
          Array.isArray(value)
            ? `${name} is a list: write {{#${name}}} … {{/${name}}} around what each item gets`
            : `${name} is an object: name one of its members`,
          at,
        );
    }
  }

  function write(text: string, at: number): void {
    step(at);
    length += text.length;
    if (length > limits.maxOutputBytes) throw tooLong(at);
    out.push(text);
  }

  function step(at: number): void {
    spending.steps += 1;
    if (spending.steps <= limits.maxSteps) return;
    throw fail('limit', `Filling in takes more than ${limits.maxSteps} steps; make the lists shorter`, at);
  }

  function tooLong(at: number): TemplateError {
    return fail('limit', `A filled-in part may have at most ${limits.maxOutputBytes} octets`, at);
  }

  function fail(kind: 'limit' | 'value', message: string, at: number): TemplateError {
    return new TemplateError(kind, message, { part: program.part, source: program.source, at });
  }
}

/** Only objects and lists have members, and only their own properties count. */
function hasOwn(value: unknown, name: string): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name);
}

function isAbsent(value: unknown): boolean {
  return value === undefined || value === null;
}

function isEmpty(value: unknown): boolean {
  return (
    isAbsent(value) ||
    value === false ||
    value === 0 ||
    value === '' ||
    (Array.isArray(value) && value.length === 0)
  );
}
