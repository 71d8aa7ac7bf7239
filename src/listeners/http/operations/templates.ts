/**
 * Templates (api.md §3): texts with gaps, stored per sender domain. Every PUT makes a version; older ones stay readable
 * and can be filled in. A template that has a mistake is refused when it is stored, with line and column, so that
 * sending never meets one.
 */

import { z } from 'zod';
import type { Clock } from '../../../lib/clock.ts';
import { AppError } from '../../../lib/errors.ts';
import { isUuid, uuidv7 } from '../../../lib/ids.ts';
import type { Random } from '../../../lib/random.ts';
import type { Caller } from '../../../model/submission.ts';
import type { TemplateHead, TemplateTexts } from '../../../model/template.ts';
import { pickDomain } from '../../../policy/access/access.ts';
import type { Store } from '../../../store/store.ts';
import type { TemplateDetail, TemplateRendering, TemplateSummary } from '../contract/answers/templates.ts';
import { nothing } from '../contract/schemas/problem.ts';
import { DOMAIN, PAGE, text } from '../contract/schemas/query.ts';
import { templateDetail, templateList, templateRendering } from '../contract/schemas/templates.ts';
import { type CreateOnce, withEntry } from '../create-once.ts';
import {
  type ApiRequest,
  type ApiRoute,
  invalidParameter,
  isoTime,
  json,
  page,
  pageLimit,
  queryCursor,
  queryInteger,
  queryText,
  refuse,
} from '../route.ts';
import { findTemplate } from '../stored-templates.ts';
import { CHANGED_TEMPLATE, MAX_VERSION, NEW_TEMPLATE, RENDER } from '../template-request.ts';
import type { TemplateWork } from '../template-work.ts';
import { listedDomains } from '../tenancy.ts';

export const MAX_TEMPLATES_PER_DOMAIN = 1000;
export const KEPT_VERSIONS = 1000;
const SHOWN_VERSIONS = 100;
/** The template routes. */
export function templateRoutes(deps: {
  store: Store;
  work: TemplateWork;
  clock: Clock;
  random: Random;
  createOnce: CreateOnce;
}): readonly ApiRoute[] {
  const { store, work, clock, random, createOnce } = deps;

  return [
    {
      method: 'GET',
      path: '/templates',
      scope: 'templates:read',
      limitedTokens: true,
      contract: {
        id: 'listTemplates',
        summary: 'List templates',
        description:
          'Templates without their texts, newest first, a page. `Name` finds one, `Domain` filters',
        query: { Name: text('Of the template'), ...DOMAIN, ...PAGE },
        answer: templateList,
      },
      handle: async (request) => {
        const limit = pageLimit(request.query);
        const wanted = queryText(request.query, 'Name', 128);
        const after = queryCursor(request.query, isUuid);
        const rows = await store.listTemplates({
          ...listedDomains(request),
          ...(wanted === undefined ? {} : { name: wanted }),
          ...(after === undefined ? {} : { beforeId: after }),
          limit: limit + 1,
        });
        return json(page(rows, limit, ({ id }) => id, summary));
      },
    },
    {
      method: 'POST',
      path: '/templates',
      scope: 'templates:write',
      limitedTokens: true,
      takesLargeBody: true,
      contract: {
        id: 'createTemplate',
        summary: 'Add a template',
        description:
          '`{Name, Subject?, HTMLContent?, PlainContent?}`, and `Domain` where the token holds several: 201 with the template in version 1. At least one text; each up to 512 KiB. A mistake in one is 422 with `Line` and `Column`. At most 1000 a domain. Takes `Idempotency-Key`. [How to write them](../howto/templates.md)',
        body: {
          schema: NEW_TEMPLATE,
          example: { Name: 'welcome', Subject: 'Welcome, {{name}}', PlainContent: 'Hello {{name}}.' },
        },
        status: 201,
        answer: templateDetail,
        headers: { Location: 'Address of the template' },
        idempotent: true,
        errors: ['template-exists', 'template-invalid', 'template-limit', 'domain-ambiguous', 'not-found'],
      },
      handle: (request) =>
        createOnce(request, 'POST /templates', async (key) => {
          const read = await work.read(request, true);
          const { texts } = read.given;
          const domain = pickDomain(request.caller, read.given.domain);
          const id = uuidv7(clock, random);
          const given = { id, domain, name: (read.given.name ?? '').toWellFormed(), texts };
          const now = clock.now();
          const head = { ...given, version: 1, createdAt: now, updatedAt: now };
          const answer = shown(head, 1, texts, read.names, [{ version: 1, createdAt: now }]);
          const result = await store.addTemplate({
            ...given,
            maxPerDomain: MAX_TEMPLATES_PER_DOMAIN,
            now,
            ...withEntry(key, (make) => make(201, answer)),
          });
          if (result === 'taken') throw taken(domain, given.name);
          if (result === 'full') throw refuse('template-limit');
          return json(answer, 201, { location: `/api/v1/templates/${id}` });
        }),
    },
    {
      method: 'GET',
      path: '/templates/:id',
      scope: 'templates:read',
      limitedTokens: true,
      contract: {
        id: 'getTemplate',
        summary: 'Show a template',
        description:
          'One template with the texts of its newest version, or of `Version`; `Variables` lists the names its tags ask for, `Versions` the newest 100 versions',
        query: { Version: z.int().min(1).max(MAX_VERSION).optional().describe('The newest where left out') },
        answer: templateDetail,
      },
      handle: async (request) => {
        const head = await own(request);
        const version = queryInteger(request.query, 'Version', {
          min: 1,
          max: MAX_VERSION,
          fallback: head.version,
        });
        return json(await detail(request.caller, head, version));
      },
    },
    {
      method: 'PUT',
      path: '/templates/:id',
      scope: 'templates:write',
      limitedTokens: true,
      takesLargeBody: true,
      contract: {
        id: 'updateTemplate',
        summary: 'Store a new version of a template',
        description:
          '`{Name?, Subject?, HTMLContent?, PlainContent?}`: a new version that holds just these texts; the template after it. The newest 1000 versions are kept and can be read, rendered and sent',
        body: {
          schema: CHANGED_TEMPLATE,
          example: { Subject: 'Welcome back, {{name}}', PlainContent: 'Hello again {{name}}.' },
        },
        answer: templateDetail,
        errors: ['template-exists', 'template-invalid'],
      },
      handle: async (request) => {
        const { id, domain } = await own(request);
        const { given } = await work.read(request, false);
        const { name, texts } = given;
        const changed = await store.changeTemplate({
          id,
          domains: [domain],
          ...(name === undefined ? {} : { name: name.toWellFormed() }),
          texts,
          keepVersions: KEPT_VERSIONS,
          now: clock.now(),
        });
        if (changed === 'taken') throw taken(domain, name ?? '');
        if (changed === null) throw refuse('not-found');
        return json(await detail(request.caller, changed, changed.version));
      },
    },
    {
      method: 'DELETE',
      path: '/templates/:id',
      scope: 'templates:write',
      limitedTokens: true,
      contract: {
        id: 'deleteTemplate',
        summary: 'Remove a template',
        description: 'Removes it with every version: `{}`',
        answer: nothing,
      },
      handle: async (request) => {
        const { id, domain } = await own(request);
        if (!(await store.removeTemplate({ id, domains: [domain] }))) throw refuse('not-found');
        return json({});
      },
    },
    {
      method: 'POST',
      path: '/templates/:id/render',
      scope: 'templates:read',
      limitedTokens: true,
      takesLargeBody: true,
      contract: {
        id: 'renderTemplate',
        summary: 'Fill a template in',
        description:
          '`{Variables?, Version?, Strict?}`: `{Subject, HTMLContent, PlainContent, Missing, Version}`, nothing is sent. `Strict` refuses where a variable is missing, and names all of them',
        body: { schema: RENDER, example: { Variables: { name: 'Ann' } }, mayBeEmpty: true },
        answer: templateRendering,
        errors: ['template-invalid', 'template-not-fillable', 'template-variable-missing'],
      },
      handle: async (request) => {
        const head = await own(request);
        const { filled, version } = await work.render(request, head);
        if (filled === null) throw noVersion(head, version, 'Version');
        const answer: TemplateRendering = {
          Subject: filled.subject,
          HTMLContent: filled.html,
          PlainContent: filled.text,
          Missing: filled.missing,
          Version: version,
        };
        return json(answer);
      },
    },
  ];

  /** The caller's template of the path. Throws AppError not-found. */
  async function own({ caller, params }: ApiRequest): Promise<TemplateHead> {
    const head = await findTemplate(store, caller, params.id ?? '');
    if (head === null) throw refuse('not-found');
    return head;
  }

  async function detail(caller: Caller, head: TemplateHead, version: number): Promise<TemplateDetail> {
    const texts = await store.templateVersion({ id: head.id, version });
    if (texts === null) throw refuse('not-found', `There is no version ${version}`);
    const names = await namesOf(caller, texts);
    const versions = await store.listTemplateVersions({ id: head.id, limit: SHOWN_VERSIONS });
    return shown(head, version, texts, names, versions);
  }

  /** None where the template is refused since it was stored: its texts can be read and mended all the same. */
  async function namesOf(caller: Caller, texts: TemplateTexts): Promise<readonly string[]> {
    try {
      return await work.names(caller, texts);
    } catch (error) {
      if (error instanceof AppError && error.problems[0].name === 'template-invalid') return [];
      throw error;
    }
  }
}

function shown(
  head: TemplateHead,
  version: number,
  texts: TemplateTexts,
  names: readonly string[],
  versions: readonly { version: number; createdAt: number }[],
): TemplateDetail {
  return {
    ...summary(head),
    Version: version,
    Subject: texts.subject,
    HTMLContent: texts.html,
    PlainContent: texts.text,
    Variables: names,
    Versions: versions.map((item) => ({ Version: item.version, CreatedAt: isoTime(item.createdAt) })),
  };
}

function taken(domain: string, wanted: string): AppError {
  return new AppError('template-exists', {
    message: `${domain} has a template named "${wanted}" already; PUT to its id makes a new version`,
    field: '/Name',
  });
}

function noVersion(head: TemplateHead, version: number, field: string): AppError {
  return invalidParameter(`There is no version ${version}; the newest is ${head.version}`, field);
}

function summary(head: TemplateHead): TemplateSummary {
  return {
    TemplateID: head.id,
    Domain: head.domain,
    Name: head.name,
    Version: head.version,
    CreatedAt: isoTime(head.createdAt),
    UpdatedAt: isoTime(head.updatedAt),
  };
}
