/**
 * Reads requests about templates: a template to store is compiled once to find its mistakes, one to render is rendered.
 * Takes the bytes of a body; returns what was requested, or throws AppError with every problem. A worker calls it for
 * what may take long.
 */
import { z } from 'zod';
import { AppError, type Problem } from '../../../lib/errors.ts';
import { isJsonObject } from '../../../lib/json-object.ts';
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
import { lineOfName } from '../body/text-rules.ts';
import { fillMistake, missingVariables, templateMistake } from './template-problems.ts';

export const MAX_VERSION = 2 ** 31 - 1;

const name = lineOfName(128);
const TEXTS = {
  Subject: z.string().optional(),
  HTMLContent: z.string().optional(),
  PlainContent: z.string().optional(),
};
export const NEW_TEMPLATE = z.object({ Name: name, Domain: z.string().max(255).optional(), ...TEXTS });
const version = z.number().int().min(1).max(MAX_VERSION).optional();
export const CHANGED_TEMPLATE = z.object({
  Name: name.optional(),
  ...TEXTS,
  Version: version.describe('The newest one that you have seen: where there is a newer one, nothing changes'),
});
const FILL = {
  Variables: z
    .custom<Readonly<Record<string, unknown>>>(isJsonObject, 'must be an object')
    .meta({ type: 'object' })
    .optional(),
  Strict: z.boolean().optional(),
};
export const RENDER = z.object({ ...FILL, Version: version });
export const RENDER_TEXTS = z.object({ ...TEXTS, ...FILL });

/** The template in a body. */
export interface GivenTemplate {
  name: string | undefined;
  domain: string | undefined;
  /** Without any where only the name changes. */
  texts: TemplateTexts;
  /** The version that a change was made from. */
  version: number | undefined;
}

/** A template that is created or changed. Throws AppError with the first mistake of each text. */
export function readTemplate(
  body: Uint8Array,
  { strict, isNew }: { strict: boolean; isNew: boolean },
): { given: GivenTemplate; names: readonly string[] } {
  const read = isNew
    ? { Version: undefined, ...readJsonBytes(body, NEW_TEMPLATE, { strict }) }
    : { Domain: undefined, ...readJsonBytes(body, CHANGED_TEMPLATE, { strict }) };
  const texts = textsOf(read);
  const { Name, Subject, HTMLContent, PlainContent } = read;
  const isRename = !isNew && Name !== undefined && (Subject ?? HTMLContent ?? PlainContent) === undefined;
  if (!isRename && !hasText(texts)) {
    throw new AppError('invalid-parameter', {
      message: 'A template holds at least one of Subject, HTMLContent and PlainContent',
      field: '/HTMLContent',
    });
  }
  const given = { name: Name, domain: read.Domain, texts, version: read.Version };
  return { given, names: namesIn(texts) };
}

export function hasText({ subject, html, text }: TemplateTexts): boolean {
  return subject !== null || html !== null || text !== null;
}

/** The names that the tags of these texts use. Throws AppError template-invalid with the first mistake of each text. */
export function namesIn(texts: TemplateTexts): readonly string[] {
  return compileAll(texts).names;
}

function compileAll(texts: TemplateTexts): CompiledTemplate {
  const problems: Problem[] = [];
  const nothing: TemplateTexts = { subject: null, html: null, text: null };
  const compiled = (['subject', 'html', 'text'] as const).map((part) => {
    try {
      return compileTemplate({ ...nothing, [part]: texts[part] });
    } catch (error) {
      if (!(error instanceof TemplateError)) throw error;
      problems.push(templateMistake(error));
      return compileTemplate(nothing);
    }
  });
  const [first, ...rest] = problems;
  if (first !== undefined) throw new AppError([first, ...rest]);
  return {
    subject: compiled[0]?.subject ?? null,
    html: compiled[1]?.html ?? null,
    text: compiled[2]?.text ?? null,
    names: [...new Set(compiled.flatMap(({ names }) => names))],
    weight: compiled.reduce((sum, { weight }) => sum + weight, 0),
  };
}

/** What a body asks to be rendered. */
export function readRender(body: Uint8Array, strict: boolean): z.output<typeof RENDER> {
  return readJsonBytes(body, RENDER, { strict, mayBeEmpty: true });
}

/** The texts of a body, filled in with its variables, and the names that they ask for. Throws AppError. */
export function renderTexts(
  body: Uint8Array,
  strict: boolean,
  limits?: TemplateLimits,
): { filled: FilledTemplate; names: readonly string[] } {
  const read = readJsonBytes(body, RENDER_TEXTS, { strict });
  const template = compileAll(textsOf(read));
  return { filled: render(template, read, limits), names: template.names };
}

/** Renders a template as a body requests. Throws AppError. */
export function render(
  template: CompiledTemplate,
  wish: Pick<z.output<typeof RENDER>, 'Variables' | 'Strict'>,
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

function textsOf(read: {
  Subject?: string | undefined;
  HTMLContent?: string | undefined;
  PlainContent?: string | undefined;
}): TemplateTexts {
  return {
    subject: textOf(read.Subject),
    html: textOf(read.HTMLContent),
    text: textOf(read.PlainContent),
  };
}

function textOf(text: string | undefined): string | null {
  return text === undefined || text === '' ? null : text.toWellFormed();
}
