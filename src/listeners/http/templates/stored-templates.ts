/**
 * Finds stored templates within the caller's domains and compiles each version once, cached while it is used. Takes an
 * id and maybe a version; returns the compiled template, or null.
 */
import { AppError } from '../../../lib/errors.ts';
import { isUuid } from '../../../lib/ids.ts';
import type { JsonObject } from '../../../lib/json-object.ts';
import type { Caller } from '../../../model/submission.ts';
import type { TemplateHead, TemplateTexts } from '../../../model/template.ts';
import { createCompiledCache } from '../../../pipeline/compose/template/compiled-cache.ts';
import { SMALL_LIMITS } from '../../../pipeline/compose/template/limits.ts';
import { type CompiledTemplate, compileTemplate } from '../../../pipeline/compose/template/template.ts';
import { TemplateError } from '../../../pipeline/compose/template/template-error.ts';
import type { Store } from '../../../store/store.ts';
import { type FoundTemplate, namedTemplate, servesSender } from '../send/template-fields.ts';
import { ownDomains } from '../tenancy.ts';
import { templateMistake } from './template-problems.ts';

/** Templates with one name that are examined: one per domain. */
const MAX_NAMED = 1_000;
const MAX_SMALL_CHARS = 64 * 1024;

export interface StoredTemplates {
  /** The template that an email request names; undefined if none. */
  forRequest(caller: Caller, object: JsonObject): Promise<FoundTemplate | null | undefined>;
  /** A template's texts, for a worker; `version` null = the newest. */
  texts(caller: Caller, id: string, version: number | null): Promise<TemplateForWorker | null>;
  /** The texts of a version, for a worker, or null. */
  forWorker(head: TemplateHead, version: number): Promise<TemplateForWorker | null>;
  /**
   * A version, compiled, or null; 'large' if only a worker should compile it. Throws AppError template-invalid for a
   * stored one that would be refused today.
   */
  compiled(head: TemplateHead, version: number): Promise<CompiledTemplate | 'large' | null>;
}

/** What the worker needs to render a template. */
export interface TemplateForWorker {
  /** Identifies the version, whose texts never change. */
  key: string;
  domain: string;
  texts: TemplateTexts;
}

/** Texts that compile in a millisecond or two. */
export function isSmall({ subject, html, text }: TemplateTexts): boolean {
  return (subject?.length ?? 0) + (html?.length ?? 0) + (text?.length ?? 0) <= MAX_SMALL_CHARS;
}

/** A text that an earlier version of this program accepted may be refused today. */
function compileStored(texts: TemplateTexts): CompiledTemplate {
  try {
    return compileTemplate(texts);
  } catch (error) {
    if (error instanceof TemplateError) throw new AppError([templateMistake(error)]);
    throw error;
  }
}

/**
 * A template of the caller's domains by its id or name. Names are unique within a domain; of several, `serves` decides.
 * null = there is none, or not exactly one.
 */
export async function findTemplate(
  store: Pick<Store, 'getTemplate' | 'templatesNamed'>,
  caller: Caller,
  given: string,
  serves: (domain: string) => boolean = () => true,
): Promise<TemplateHead | null> {
  const id = given.toLowerCase();
  if (isUuid(id)) return store.getTemplate({ id, ...ownDomains(caller) });
  const named = await store.templatesNamed({ name: given, limit: MAX_NAMED, ...ownDomains(caller) });
  const [only, ...others] = named.filter(({ domain }) => serves(domain));
  return only === undefined || others.length > 0 ? null : only;
}

/** One per listener. */
export function createStoredTemplates(
  store: Pick<Store, 'getTemplate' | 'templateVersion' | 'templatesNamed'>,
): StoredTemplates {
  const cache = createCompiledCache();
  const keyOf = (head: TemplateHead, version: number) => `${head.id} ${version}`;

  async function forWorker(head: TemplateHead, version: number): Promise<TemplateForWorker | null> {
    const texts = await store.templateVersion({ id: head.id, version });
    return texts === null ? null : { key: keyOf(head, version), domain: head.domain, texts };
  }

  async function compiled(head: TemplateHead, version: number): Promise<CompiledTemplate | 'large' | null> {
    const kept = cache.get(keyOf(head, version));
    if (kept !== undefined) return kept;
    const texts = await store.templateVersion({ id: head.id, version });
    if (texts === null) return null;
    if (!isSmall(texts)) return 'large';
    const made = compileStored(texts);
    cache.set(keyOf(head, version), made);
    return made;
  }

  return {
    compiled,
    forWorker,
    async forRequest(caller, object) {
      const named = namedTemplate(object);
      if (named === null) return undefined;
      const head = await findTemplate(store, caller, named.id, (domain) => servesSender(domain, object));
      if (head === null) return null;
      const template = await compiled(head, named.version ?? head.version);
      return template === null ? null : { domain: head.domain, compiled: template, limits: SMALL_LIMITS };
    },
    async texts(caller, id, wanted) {
      const head = await findTemplate(store, caller, id);
      return head === null ? null : forWorker(head, wanted ?? head.version);
    },
  };
}
