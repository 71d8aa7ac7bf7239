/**
 * Reads requests about templates: a template to store is compiled once to find its mistakes, one to render is rendered.
 * Takes the bytes of a body; returns what was requested, or throws AppError with every problem. A worker calls it for
 * what may take long.
 */
import { z } from 'zod';
import { AppError, type Problem } from '../../../lib/errors.ts';
import type { TemplateTexts } from '../../../model/template.ts';
import type { TemplateLimits } from '../../../pipeline/compose/template/limits.ts';
import {
  type CompiledTemplate,
  compileTemplate,
  type FilledTemplate,
  fillTemplate,
} from '../../../pipeline/compose/template/template.ts';
import { TemplateError } from '../../../pipeline/compose/template/template-error.ts';
import { readJsonBytes } from '../body/json-request.ts';
import { fillMistake, missingVariables, templateMistake } from './template-problems.ts';

export const MAX_VERSION = 2 ** 31 - 1;

const name = z.string().trim().min(1).max(128).refine(isOneLine, 'must not hold control characters');
const TEXTS = {
  Subject: z.string().optional(),
  HTMLContent: z.string().optional(),
  PlainContent: z.string().optional(),
};
export const NEW_TEMPLATE = z.object({ Name: name, Domain: z.string().max(255).optional(), ...TEXTS });
export const CHANGED_TEMPLATE = z.object({ Name: name.optional(), ...TEXTS });
export const RENDER = z.object({
  Variables: z
    .custom<Readonly<Record<string, unknown>>>(isObject, 'must be an object')
    .meta({ type: 'object' })
    .optional(),
  Version: z.number().int().min(1).max(MAX_VERSION).optional(),
  Strict: z.boolean().optional(),
});

/** The template in a body. */
export interface GivenTemplate {
  name: string | undefined;
  domain: string | undefined;
  texts: TemplateTexts;
}

/** A template that is created or changed. Throws AppError with the first mistake of each text. */
export function readTemplate(
  body: Uint8Array,
  { strict, isNew }: { strict: boolean; isNew: boolean },
): { given: GivenTemplate; names: readonly string[] } {
  const read = isNew
    ? readJsonBytes(body, NEW_TEMPLATE, { strict })
    : { Domain: undefined, ...readJsonBytes(body, CHANGED_TEMPLATE, { strict }) };
  const texts: TemplateTexts = {
    subject: textOf(read.Subject),
    html: textOf(read.HTMLContent),
    text: textOf(read.PlainContent),
  };
  if (texts.subject === null && texts.html === null && texts.text === null) {
    throw new AppError('invalid-parameter', {
      message: 'A template holds at least one of Subject, HTMLContent and PlainContent',
      field: '/HTMLContent',
    });
  }
  return { given: { name: read.Name, domain: read.Domain, texts }, names: namesIn(texts) };
}

/** The names that the tags of these texts use. Throws AppError template-invalid with the first mistake of each text. */
export function namesIn(texts: TemplateTexts): readonly string[] {
  const problems: Problem[] = [];
  const names = new Set<string>();
  const nothing: TemplateTexts = { subject: null, html: null, text: null };
  for (const part of ['subject', 'html', 'text'] as const) {
    try {
      for (const each of compileTemplate({ ...nothing, [part]: texts[part] }).names) names.add(each);
    } catch (error) {
      if (!(error instanceof TemplateError)) throw error;
      problems.push(templateMistake(error));
    }
  }
  const [first, ...rest] = problems;
  if (first !== undefined) throw new AppError([first, ...rest]);
  return [...names];
}

/** What a body asks to be rendered. */
export function readRender(body: Uint8Array, strict: boolean): z.output<typeof RENDER> {
  return readJsonBytes(body, RENDER, { strict, mayBeEmpty: true });
}

/** Renders a template as a body requests. Throws AppError. */
export function render(
  template: CompiledTemplate,
  wish: z.output<typeof RENDER>,
  limits?: TemplateLimits,
): FilledTemplate {
  const filled = fillOrRefuse(template, wish.Variables ?? {}, limits);
  const [first, ...rest] = wish.Strict === true ? missingVariables(filled.missing) : [];
  if (first !== undefined) throw new AppError([first, ...rest]);
  return filled;
}

function fillOrRefuse(
  template: CompiledTemplate,
  variables: Readonly<Record<string, unknown>>,
  limits?: TemplateLimits,
): FilledTemplate {
  try {
    return fillTemplate(template, variables, undefined, limits);
  } catch (error) {
    if (error instanceof TemplateError) throw new AppError([fillMistake(error)], { cause: error });
    throw error;
  }
}

function textOf(text: string | undefined): string | null {
  return text === undefined || text === '' ? null : text.toWellFormed();
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isOneLine(text: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters that are refused
  return !/[\u0000-\u001f\u007f]/.test(text);
}
