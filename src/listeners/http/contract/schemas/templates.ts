/** Schemas of the answers about templates. */
import { z } from 'zod';
import type { Page } from '../answers/page.ts';
import type { TemplateDetail, TemplateRendering, TemplateSummary } from '../answers/templates.ts';
import { exactly } from './exactly.ts';
import { pageOf, time } from './shared.ts';

const version = z.int().min(1);

const summary = {
  TemplateID: z.uuid(),
  Domain: z.string(),
  Name: z.string(),
  Version: version.describe('The newest; in a template with its texts, the one that is shown'),
  CreatedAt: time,
  UpdatedAt: time,
};

const texts = {
  Subject: z.string().nullable().describe('null = left to the request'),
  HTMLContent: z.string().nullable(),
  PlainContent: z.string().nullable(),
};

export const templateList = exactly<Page<TemplateSummary>>()(
  pageOf('TemplateList', z.object(summary).meta({ id: 'TemplateSummary' })),
);

export const templateDetail = exactly<TemplateDetail>()(
  z
    .object({
      ...summary,
      ...texts,
      Variables: z
        .array(z.string())
        .describe('Names that its tags ask for; inside a section they may be members of its items'),
      Versions: z
        .array(z.object({ Version: version, CreatedAt: time }))
        .describe('Versions that are kept, newest first, at most 100'),
    })
    .meta({ id: 'Template' }),
);

export const templateRendering = exactly<TemplateRendering>()(
  z
    .object({
      ...texts,
      Missing: z.array(z.string()).describe('Variables that were asked for without a default and not given'),
      Version: version,
    })
    .meta({ id: 'TemplateRendering' }),
);
