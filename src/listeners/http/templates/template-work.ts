/**
 * Decides where a template is compiled and rendered: short ones on the event loop, others in a worker. How long
 * rendering takes is not known before, so it starts here with small limits, and a worker repeats it if they are
 * exceeded. Throws AppError.
 */

import { AppError } from '../../../lib/errors.ts';
import type { Caller } from '../../../model/submission.ts';
import type { TemplateHead, TemplateTexts } from '../../../model/template.ts';
import { SMALL_LIMITS } from '../../../pipeline/compose/template/limits.ts';
import type { FilledTemplate } from '../../../pipeline/compose/template/template.ts';
import { TemplateError } from '../../../pipeline/compose/template/template-error.ts';
import { sharersOf } from '../../../policy/access/rights.ts';
import { requireJson } from '../body/json-media-type.ts';
import { prefersStrict } from '../body/prefer.ts';
import type { ApiRequest } from '../route.ts';
import type { Problems } from '../worker-messages.ts';
import type { WorkerPool } from '../worker-pool.ts';
import { isSmall, type StoredTemplates } from './stored-templates.ts';
import {
  type GivenTemplate,
  namesIn,
  readRender,
  readTemplate,
  render,
  renderTexts,
} from './template-request.ts';

/** Larger bodies are read in a worker. */
const SMALL_BODY_BYTES = 32 * 1024;

export interface TemplateWork {
  /** The checked template of a request that creates or changes one. */
  read(request: ApiRequest, isNew: boolean): Promise<{ given: GivenTemplate; names: readonly string[] }>;
  /** The names that stored texts use. */
  names(caller: Caller, texts: TemplateTexts): Promise<readonly string[]>;
  /** `null`: there is no such version. */
  render(
    request: ApiRequest,
    head: TemplateHead,
  ): Promise<{ filled: FilledTemplate | null; version: number }>;
  /** Texts that are not stored, filled in, and the names that they use. */
  renderTexts(request: ApiRequest): Promise<{ filled: FilledTemplate; names: readonly string[] }>;
}

/** One for the operations of a listener. */
export function createTemplateWork(deps: {
  templates: StoredTemplates;
  workers: Pick<WorkerPool, 'run'>;
}): TemplateWork {
  const { templates, workers } = deps;
  return {
    async read(request, isNew) {
      requireJson(request.header('content-type'));
      const { body, caller } = request;
      const strict = prefersStrict(request.header('prefer'));
      if (body.length <= SMALL_BODY_BYTES) return readTemplate(body, { strict, isNew });
      return orThrow(await workers.run(sharersOf(caller), 'template', { body, strict, isNew }));
    },

    names: async (caller, texts) =>
      isSmall(texts)
        ? namesIn(texts)
        : orThrow(await workers.run(sharersOf(caller), 'names', { texts })).names,

    async render(request, head) {
      const { caller } = request;
      if (request.body.length > 0) requireJson(request.header('content-type'));
      const strict = prefersStrict(request.header('prefer'));
      let { body } = request;
      let version = head.version;
      if (body.length <= SMALL_BODY_BYTES) {
        const wish = readRender(body, strict);
        version = wish.Version ?? version;
        const template = await templates.compiled(head, version);
        if (template === null) return { filled: null, version };
        if (template !== 'large') {
          try {
            return { filled: render(template, wish, SMALL_LIMITS), version };
          } catch (error) {
            if (!isTooLarge(error)) throw error;
          }
        }
      }
      // The body may name another version than the newest: then it is repeated with that one.
      for (;;) {
        const template = await templates.forWorker(head, version);
        if (template === null) return { filled: null, version };
        const job = { body, strict, template, version };
        const found = await workers.run(sharersOf(caller), 'render', job);
        if (found.ok !== 'needs-version') return orThrow(found);
        ({ body, version } = found);
      }
    },

    async renderTexts(request) {
      requireJson(request.header('content-type'));
      const { body, caller } = request;
      const strict = prefersStrict(request.header('prefer'));
      if (body.length <= SMALL_BODY_BYTES) {
        try {
          return renderTexts(body, strict, SMALL_LIMITS);
        } catch (error) {
          if (!isTooLarge(error)) throw error;
        }
      }
      return orThrow(await workers.run(sharersOf(caller), 'render-texts', { body, strict }));
    },
  };
}

function isTooLarge(error: unknown): boolean {
  return error instanceof AppError && error.cause instanceof TemplateError && error.cause.kind === 'limit';
}

function orThrow<Found extends { ok: true }>(found: Found | Problems): Found {
  if (found.ok) return found;
  throw new AppError(found.problems);
}
