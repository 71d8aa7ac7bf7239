/** Templates as their place asks for them: one function an operation. */
import type {
  CreateTemplateRequest,
  RenderTextsRequest,
  Template,
  TemplateSummary,
  TextsRendering,
  UpdateTemplateRequest,
} from '../../src/client/api-types.ts';
import { call, everyItem, open } from './call.ts';

/** Under what the answers are kept, for whoever changes a template. */
export const TEMPLATES = ['templates'] as const;
export const templateKey = (id: string) => [...TEMPLATES, 'one', id] as const;

const part = encodeURIComponent;
/** Pages of a hundred that the list shows at the most. */
const MAX_PAGES = 10;

/** Newest first; the first thousand. */
export function listTemplates(signal?: AbortSignal): Promise<readonly TemplateSummary[]> {
  return everyItem('/templates', MAX_PAGES, signal);
}

/** With the texts of its newest version, or of another. */
export function getTemplate(id: string, version?: number, signal?: AbortSignal): Promise<Template> {
  return call('GET', `/templates/${part(id)}`, { query: { Version: version }, signal });
}

export function createTemplate(wanted: CreateTemplateRequest): Promise<Template> {
  return call('POST', '/templates', { body: wanted });
}

/** A new version, or a new name alone. Refused with 409 if `Version` is not the newest any more. */
export function changeTemplate(id: string, change: UpdateTemplateRequest): Promise<Template> {
  return call('PUT', `/templates/${part(id)}`, { body: change });
}

/** `leaving`: the page is being closed, the request goes on without it. */
export async function removeTemplate(id: string, leaving = false): Promise<void> {
  await open('DELETE', `/templates/${part(id)}`, { keepalive: leaving });
}

/** Fills texts in that are not stored. */
export function renderTexts(wanted: RenderTextsRequest, signal?: AbortSignal): Promise<TextsRendering> {
  return call('POST', '/templates/render', { body: wanted, signal });
}
