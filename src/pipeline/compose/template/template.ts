/**
 * The template engine: logic-less, for templates that users write. `{{name}}` is escaped for the place it stands in
 * (docs/howto/templates.md has the whole syntax). Compiled once, filled in often; pure; linear in the template and in what comes
 * out; bounded by `TEMPLATE_LIMITS`. Throws `TemplateError` for what is wrong with a template or its variables, and
 * nothing else.
 */
import { compilePart, type Program } from './compile.ts';
import { TEMPLATE_LIMITS, type TemplateLimits } from './limits.ts';
import { renderProgram, type Variables } from './render.ts';

/** The texts of a template; null = this template leaves that part to the request. */
export interface TemplateSource {
  subject: string | null;
  html: string | null;
  text: string | null;
}

export interface CompiledTemplate {
  readonly subject: Program | null;
  readonly html: Program | null;
  readonly text: Program | null;
  /** Names its tags ask for, once each; inside a section they may be members of its items. */
  readonly names: readonly string[];
  /** Octets it may take in memory, roughly. */
  readonly weight: number;
}

export interface FilledTemplate {
  subject: string | null;
  html: string | null;
  text: string | null;
  /** Names that were asked for without a default and were not there, at most 100. */
  missing: readonly string[];
}

/** What to fill in; left out, everything. */
export type PartsWanted = Readonly<{ subject: boolean; html: boolean; text: boolean }>;

const ALL: PartsWanted = { subject: true, html: true, text: true };

/** Compiles every part. Throws TemplateError of the kinds syntax and limit. */
export function compileTemplate(
  { subject, html, text }: TemplateSource,
  limits: TemplateLimits = TEMPLATE_LIMITS,
): CompiledTemplate {
  const programs = {
    subject: subject === null ? null : compilePart(subject, 'subject', limits),
    html: html === null ? null : compilePart(html, 'html', limits),
    text: text === null ? null : compilePart(text, 'text', limits),
  };
  const parts = [programs.subject, programs.html, programs.text].filter((program) => program !== null);
  return {
    ...programs,
    names: [...new Set(parts.flatMap(({ names }) => names))],
    // Source and literal pieces hold the text twice, in two octets a character; the rest is small change.
    weight: parts.reduce((sum, { source }) => sum + 6 * source.length, 1024),
  };
}

/** Fills the wanted parts in. Throws TemplateError of the kinds limit and value. */
export function fillTemplate(
  template: CompiledTemplate,
  variables: Variables,
  wanted: PartsWanted = ALL,
  limits: TemplateLimits = TEMPLATE_LIMITS,
): FilledTemplate {
  const missing = new Set<string>();
  const spending = { steps: 0, readChars: 0 };
  const fill = (program: Program | null, want: boolean) =>
    program === null || !want ? null : renderProgram(program, variables, limits, spending, missing);
  const subject = fill(template.subject, wanted.subject);
  return {
    subject: subject === null ? null : subject.trim(),
    html: fill(template.html, wanted.html),
    text: fill(template.text, wanted.text),
    missing: [...missing],
  };
}
