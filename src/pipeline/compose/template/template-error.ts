/**
 * The error of the template engine: what is wrong, in which part, at which line and column, with the text there.
 * Templates and variables come from outside, so each mistake in them is an expected result, with a sentence that says
 * how to correct it.
 */

/** `syntax`: the template itself, found when it is stored. The others occur while it is rendered. */
type TemplateErrorKind = 'syntax' | 'limit' | 'value';

/** The parts of a template. */
export type TemplatePart = 'subject' | 'html' | 'text';

const SNIPPET_CHARS = 60;

export class TemplateError extends Error {
  readonly kind: TemplateErrorKind;
  readonly part: TemplatePart;
  /** From 1. */
  readonly line: number;
  /** From 1, in UTF-16 units. */
  readonly column: number;
  /** The rest of the line, at most 60 characters, without control characters. */
  readonly snippet: string;

  constructor(
    kind: TemplateErrorKind,
    message: string,
    place: { part: TemplatePart; source: string; at: number },
  ) {
    super(message);
    this.name = 'TemplateError';
    this.kind = kind;
    this.part = place.part;
    const { line, column } = positionOf(place.source, place.at);
    this.line = line;
    this.column = column;
    this.snippet = snippetAt(place.source, place.at);
  }
}

/** Line and column of an offset, both from 1. A line ends with LF. */
export function positionOf(source: string, at: number): { line: number; column: number } {
  let line = 1;
  let start = 0;
  for (let end = source.indexOf('\n'); end >= 0 && end < at; end = source.indexOf('\n', start)) {
    line += 1;
    start = end + 1;
  }
  return { line, column: Math.max(0, at - start) + 1 };
}

function snippetAt(source: string, at: number): string {
  const end = source.indexOf('\n', at);
  const rest = source.slice(at, Math.min(end < 0 ? source.length : end, at + SNIPPET_CHARS));
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to be removed
  return rest.replace(/[\u0000-\u001f\u007f-\u009f]/g, ' ').toWellFormed();
}
