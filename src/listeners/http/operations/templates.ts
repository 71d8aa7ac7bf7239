/**
 * Templates: texts with variables, stored per sender domain. Every PUT of texts creates a version; older ones can still be
 * read and rendered. A PUT that names the version it was made from changes nothing where there is a newer one. A template with a mistake is refused when it is stored, with line and column, so that sending never
 * finds one.
 */

import { z } from 'zod';
import { AppError } from '../../../lib/errors.ts';
import { uuidv7 } from '../../../lib/ids.ts';
import type { Caller } from '../../../model/submission.ts';
import type { TemplateHead, TemplateTexts } from '../../../model/template.ts';
import type { FilledTemplate } from '../../../pipeline/compose/template/template.ts';
import { pickDomain } from '../../../policy/access/rights.ts';
import { type Answer, nothing, pageOf, time } from '../answer-schemas.ts';
import type { ApiParts } from '../deps.ts';
import { operation, withHeaders, withoutUndefined } from '../operation.ts';
import { paging } from '../paging.ts';
import { DOMAIN, integer, text } from '../query.ts';
import { type ApiRoute, BASE, existing, invalidParameter, isoTime, refuse } from '../route.ts';
import { findTemplate } from '../templates/stored-templates.ts';
import {
  CHANGED_TEMPLATE,
  hasText,
  MAX_VERSION,
  NEW_TEMPLATE,
  RENDER,
  RENDER_TEXTS,
} from '../templates/template-request.ts';

const version = z.int().min(1);

const members = {
  TemplateID: z.uuid(),
  Domain: z.string(),
  Name: z.string(),
  Version: version.describe('The newest; in a template with its texts, the one that is shown'),
  CreatedAt: time,
  UpdatedAt: time,
};

const templateSummary = z.object(members).meta({ id: 'TemplateSummary' });

const textMembers = {
  Subject: z.string().nullable().describe('null = left to the request'),
  HTMLContent: z.string().nullable(),
  PlainContent: z.string().nullable(),
};

const names = z
  .array(z.string())
  .describe('Names that its tags ask for; inside a section they may be members of its items');

const templateDetail = z
  .object({
    ...members,
    ...textMembers,
    Variables: names,
    Versions: z
      .array(z.object({ Version: version, CreatedAt: time }))
      .describe('Versions that are kept, newest first, at most 100'),
  })
  .meta({ id: 'Template' });

const filledMembers = {
  ...textMembers,
  Missing: z.array(z.string()).describe('Variables that were asked for without a default and not given'),
};

const templateRendering = z.object({ ...filledMembers, Version: version }).meta({ id: 'TemplateRendering' });

const textsRendering = z.object({ ...filledMembers, Variables: names }).meta({ id: 'TextsRendering' });

type TemplateDetail = Answer<typeof templateDetail>;

export const MAX_TEMPLATES_PER_DOMAIN = 1000;
const KEPT_VERSIONS = 1000;
const SHOWN_VERSIONS = 100;
/** Templates that one read of a search looks at. */
const LOOK = 500;
const PAGES = paging('templates', z.uuid(), ({ id }: { id: string }) => id);

export function templateOperations({
  store,
  work,
  clock,
  random,
  createOnce,
}: ApiParts): readonly ApiRoute[] {
  return [
    operation('GET /templates', {
      id: 'listTemplates',
      scope: 'templates:read',
      summary: 'List templates',
      description:
        'Templates without their texts, newest first, a page. `Name` finds one, `Search` those with all its words in the name, the domain or the id, `Domain` filters',
      query: {
        Name: text('Of the template', 128),
        Search: text('Words, in any case', 200),
        ...DOMAIN,
        ...PAGES.query,
      },
      answer: pageOf('TemplateList', templateSummary),
      handle: ({ query, visible, request }) => {
        const words = (query.Search ?? '')
          .toLowerCase()
          .split(/\s+/)
          .filter((word) => word !== '');
        return PAGES.search(request, query, summary, async (beforeId, most) => {
          // Without words, the first look finds the page.
          const look = words.length === 0 ? most : LOOK;
          const asked = { ...visible, ...withoutUndefined({ name: query.Name, beforeId }), limit: look };
          const looked = await store.listTemplates(asked);
          const rows = looked.filter((one) => {
            const said = `${one.name} ${one.domain} ${one.id}`.toLowerCase();
            return words.every((word) => said.includes(word));
          });
          return { rows, next: looked.length < look ? null : (looked.at(-1)?.id ?? null) };
        });
      },
    }),
    operation('POST /templates', {
      id: 'createTemplate',
      scope: 'templates:write',
      takesLargeBody: true,
      summary: 'Add a template',
      description:
        '`{Name, Subject?, HTMLContent?, PlainContent?}`, and `Domain` if the token has several: 201 with the template in version 1. At least one of them; each up to 512 KiB. An error in one is 422 with `Line` and `Column`. At most 1000 a domain. Takes `Idempotency-Key`. [How to write them](../howto/templates.md)',
      body: {
        schema: NEW_TEMPLATE,
        example: { Name: 'welcome', Subject: 'Welcome, {{name}}', PlainContent: 'Hello {{name}}.' },
      },
      status: 201,
      answer: templateDetail,
      headers: { Location: 'Address of the template' },
      once: createOnce,
      errors: ['template-exists', 'template-invalid', 'template-limit', 'domain-ambiguous', 'not-found'],
      read: (request) => work.read(request, true),
      handle: async ({ caller, body, key }) => {
        const { texts } = body.given;
        const domain = pickDomain(caller, body.given.domain);
        const id = uuidv7(clock, random);
        const given = { id, domain, name: (body.given.name ?? '').toWellFormed(), texts };
        const now = clock.now();
        const head = { ...given, version: 1, createdAt: now, updatedAt: now };
        const answer = shown(head, 1, texts, body.names, [{ version: 1, createdAt: now }]);
        const result = await store.addTemplate({
          ...given,
          maxPerDomain: MAX_TEMPLATES_PER_DOMAIN,
          now,
          ...withoutUndefined({ idempotency: key?.(answer) }),
        });
        if (result === 'taken') throw taken(domain, given.name);
        if (result === 'full') throw refuse('template-limit');
        return withHeaders(answer, { location: `${BASE}/templates/${id}` });
      },
    }),
    operation('GET /templates/:id', {
      id: 'getTemplate',
      scope: 'templates:read',
      summary: 'Show a template',
      description:
        'One template with the texts of its newest version, or of `Version`; `Variables` lists the names its tags ask for, `Versions` the newest 100 versions',
      query: { Version: integer(1, MAX_VERSION).optional().describe('The newest where left out') },
      answer: templateDetail,
      handle: async ({ caller, params, query }) => {
        const head = await own(caller, params.id);
        return detail(caller, head, query.Version ?? head.version);
      },
    }),
    operation('PUT /templates/:id', {
      id: 'updateTemplate',
      scope: 'templates:write',
      takesLargeBody: true,
      summary: 'Store a new version of a template',
      description:
        '`{Name?, Subject?, HTMLContent?, PlainContent?, Version?}`: stores a new version with only these parts, and answers with the template. `Name` alone only renames it. Give in `Version` the newest version that you have read: the request is refused if somebody stored a newer one. The newest 1000 versions are kept and can be read, rendered and sent',
      body: {
        schema: CHANGED_TEMPLATE,
        example: { Subject: 'Welcome back, {{name}}', PlainContent: 'Hello again {{name}}.', Version: 1 },
      },
      answer: templateDetail,
      errors: ['template-exists', 'template-invalid', 'template-changed'],
      read: (request) => work.read(request, false),
      handle: async ({ caller, params, body }) => {
        const { id, domain } = await own(caller, params.id);
        const { name, texts, version: fromVersion } = body.given;
        const changed = await store.changeTemplate({
          id,
          domains: [domain],
          ...withoutUndefined({ name: name?.toWellFormed(), fromVersion }),
          texts: hasText(texts) ? texts : null,
          keepVersions: KEPT_VERSIONS,
          now: clock.now(),
        });
        if (changed === 'taken') throw taken(domain, name ?? '');
        if (changed === 'changed') throw changedSince(fromVersion ?? 0);
        const head = existing(changed);
        return detail(caller, head, head.version);
      },
    }),
    operation('DELETE /templates/:id', {
      id: 'deleteTemplate',
      scope: 'templates:write',
      summary: 'Remove a template',
      description: 'Removes it with all versions: `{}`',
      answer: nothing,
      handle: async ({ caller, params }) => {
        const { id, domain } = await own(caller, params.id);
        existing(await store.removeTemplate({ id, domains: [domain] }));
        return {};
      },
    }),
    operation('POST /templates/:id/render', {
      id: 'renderTemplate',
      scope: 'templates:read',
      takesLargeBody: true,
      summary: 'Fill a template in',
      description:
        '`{Variables?, Version?, Strict?}`: `{Subject, HTMLContent, PlainContent, Missing, Version}`, nothing is sent. With `Strict` a missing variable is an error that names all missing ones',
      body: { schema: RENDER, example: { Variables: { name: 'Ann' } }, mayBeEmpty: true },
      answer: templateRendering,
      errors: ['template-invalid', 'template-not-fillable', 'template-variable-missing'],
      // Read together with the texts of the template, by a worker if they are large.
      read: async () => null,
      handle: async ({ caller, params, request }) => {
        const head = await own(caller, params.id);
        const { filled, version } = await work.render(request, head);
        if (filled === null) throw noVersion(head, version, 'Version');
        return { ...shownFilled(filled), Version: version };
      },
    }),
    operation('POST /templates/render', {
      id: 'renderTexts',
      scope: 'templates:read',
      takesLargeBody: true,
      summary: 'Fill texts in that are not stored',
      description:
        '`{Subject?, HTMLContent?, PlainContent?, Variables?, Strict?}`: `{Subject, HTMLContent, PlainContent, Missing, Variables}`, nothing is stored or sent. Errors are those of storing these texts and of filling them in',
      body: {
        schema: RENDER_TEXTS,
        example: { Subject: 'Welcome, {{name}}', Variables: { name: 'Ann' } },
      },
      answer: textsRendering,
      errors: ['template-invalid', 'template-not-fillable', 'template-variable-missing'],
      // Read and filled in at once, by a worker if the texts are large.
      read: async () => null,
      handle: async ({ request }) => {
        const { filled, names: asked } = await work.renderTexts(request);
        return { ...shownFilled(filled), Variables: asked };
      },
    }),
  ];

  /** The caller's template of the path. Throws AppError not-found. */
  async function own(caller: Caller, id: string): Promise<TemplateHead> {
    return existing(await findTemplate(store, caller, id));
  }

  async function detail(caller: Caller, head: TemplateHead, version: number): Promise<TemplateDetail> {
    const texts = await store.templateVersion({ id: head.id, version });
    if (texts === null) throw refuse('not-found', `There is no version ${version}`);
    const names = await namesOf(caller, texts);
    const versions = await store.listTemplateVersions({ id: head.id, limit: SHOWN_VERSIONS });
    return shown(head, version, texts, names, versions);
  }

  /** None if the template would be refused today: its texts can still be read and corrected. */
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

function shownFilled({ subject, html, text, missing }: FilledTemplate) {
  return { Subject: subject, HTMLContent: html, PlainContent: text, Missing: missing };
}

function taken(domain: string, wanted: string): AppError {
  return new AppError('template-exists', {
    message: `${domain} has a template named "${wanted}" already: store a new version of that one, or choose another name`,
    field: '/Name',
  });
}

function changedSince(version: number): AppError {
  return new AppError('template-changed', {
    message: `Version ${version} is not the newest; read the template again, then give its newest version to replace that`,
    field: '/Version',
  });
}

function noVersion(head: TemplateHead, version: number, field: string): AppError {
  return invalidParameter(`There is no version ${version}; the newest is ${head.version}`, field);
}

function summary(head: TemplateHead): Answer<typeof templateSummary> {
  return {
    TemplateID: head.id,
    Domain: head.domain,
    Name: head.name,
    Version: head.version,
    CreatedAt: isoTime(head.createdAt),
    UpdatedAt: isoTime(head.updatedAt),
  };
}
