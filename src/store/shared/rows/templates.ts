/** Templates and their versions, as rows. */
import type { TemplateHead, TemplateTexts } from '../../../model/template.ts';

export type TemplateRow = TemplateHead & { seq: number };

/** Selected as a `TemplateRow`. */
export const TEMPLATE_COLUMNS =
  'seq, id, domain, name, version, created_at AS "createdAt", updated_at AS "updatedAt"';

/** Of `template_version v`, selected as a `TemplateVersion`. */
export const VERSION_COLUMNS = 'v.version, v.created_at AS "createdAt", v.subject, v.html, v.plain AS text';

export function toHead({ seq: _, ...head }: TemplateRow): TemplateHead {
  return head;
}

export function newTemplateRow({
  id,
  domain,
  name,
  now,
}: Pick<TemplateHead, 'id' | 'domain' | 'name'> & { now: number }) {
  return { id, domain, name, version: 1, created_at: now, updated_at: now };
}

export function versionRow(seq: number, version: number, texts: TemplateTexts, now: number) {
  return {
    template_seq: seq,
    version,
    created_at: now,
    subject: texts.subject,
    html: texts.html,
    plain: texts.text,
  };
}
