/**
 * The template engine, without logic, for templates that users write. `{{name}}` is escaped for its position
 * (docs/howto/templates.md has the syntax). Compiled once, rendered often; time is linear in the template and the
 * output, and limited by `TEMPLATE_LIMITS`. Throws `TemplateError` for mistakes in a template or its variables, and
 * nothing else.
 */
import { compilePart, type Program } from './compile.ts';
import { TEMPLATE_LIMITS, type TemplateLimits } from './limits.ts';
import { renderProgram, type Variables } from './render.ts';

/** The texts of a template; null = the request provides this part. */
interface TemplateSource {
  subject: string | null;
  html: string | null;
  text: string | null;
}

export interface CompiledTemplate {
  readonly subject: Program | null;
  readonly html: Program | null;
  readonly text: Program | null;
  /** Names that its tags use, once each; inside a section they may be members of its items. */
  readonly names: readonly string[];
  /** Approximate octets in memory. */
  readonly weight: number;
}

export interface FilledTemplate {
  subject: string | null;
  html: string | null;
  text: string | null;
  /** Names without a default that were not found, at most 100. */
  missing: readonly string[];
}

/** The parts to render; absent = all. */
type PartsWanted = Readonly<{ subject: boolean; html: boolean; text: boolean }>;

const ALL: PartsWanted = { subject: true, html: true, text: true };

/** Compiles every part. Throws TemplateError of the kinds syntax and limit. */
export function compileTemplate({ subject, html, text }: TemplateSource): CompiledTemplate {
  const programs = {
    subject: subject === null ? null : compilePart(subject, 'subject'),
    html: html === null ? null : compilePart(html, 'html'),
    text: text === null ? null : compilePart(text, 'text'),
  };
  const parts = [programs.subject, programs.html, programs.text].filter((program) => program !== null);
  return {
    ...programs,
    names: [...new Set(parts.flatMap(({ names }) => names))],
    // Source and literal pieces hold the text twice, with two octets per character; the rest is small.
    weight: parts.reduce((sum, { source }) => sum + 6 * source.length, 1024),
  };
}

/** Renders the wanted parts. Throws TemplateError of the kinds limit and value. */
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
