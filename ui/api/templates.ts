/** Templates as their place asks for them: one function an operation. */
import type {
  CreateTemplateRequest,
  RenderTextsRequest,
  Template,
  TemplateList,
  TextsRendering,
  UpdateTemplateRequest,
} from '../../src/client/api-types.ts';
import { call, open, part } from './call.ts';

/** Under what the answers are kept, for whoever changes a template. */
export const TEMPLATES = ['templates'] as const;
export const templateKey = (id: string) => [...TEMPLATES, 'one', id] as const;

/** A page of a hundred, the newest first; `words`: what stands in the name, the domain or the id. */
export function listTemplates(
  words: string,
  after: string | undefined,
  signal?: AbortSignal,
): Promise<TemplateList> {
  return call('GET', '/templates', { query: { Search: words, Limit: 100, After: after }, signal });
}

/** With the texts of its newest version, or of another. */
export function getTemplate(id: string, version?: number, signal?: AbortSignal): Promise<Template> {
  return call('GET', `/templates/${part(id)}`, { query: { Version: version }, signal, isOwnText: true });
}

export function createTemplate(wanted: CreateTemplateRequest): Promise<Template> {
  return call('POST', '/templates', { body: wanted, isOwnText: true });
}

/** A new version, or a new name alone. Refused with 409 if `Version` is not the newest any more. */
export function changeTemplate(id: string, change: UpdateTemplateRequest): Promise<Template> {
  return call('PUT', `/templates/${part(id)}`, { body: change, isOwnText: true });
}

/** `leaving`: the page is being closed, the request goes on without it. */
export async function removeTemplate(id: string, leaving = false): Promise<void> {
  await open('DELETE', `/templates/${part(id)}`, { keepalive: leaving });
}

/** Fills texts in that are not stored. */
export function renderTexts(wanted: RenderTextsRequest, signal?: AbortSignal): Promise<TextsRendering> {
  return call('POST', '/templates/render', { body: wanted, signal, isOwnText: true });
}
