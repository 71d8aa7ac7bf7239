/**
 * Warnings of `POST /email/validate` about a message that would be accepted but is probably a mistake: unknown members,
 * contents that mail programs show badly.
 */

import { z } from 'zod';
import type { Problem } from '../../../lib/errors.ts';
import type { Submission } from '../../../model/submission.ts';

export const warning = z
  .object({
    Name: z.string(),
    Message: z.string(),
    Field: z.string().optional().describe('A JSON Pointer, where one field is meant'),
  })
  .meta({ id: 'EmailWarning', description: 'What would be taken but is likely not meant' });

export type EmailWarning = z.output<typeof warning>;

/** A well-known webmail service hides the HTML beyond this. */
const CLIPPED_HTML_BYTES = 102 * 1024;
const MAX_PICTURES = 10;

/** Problems that strict handling would find, as warnings: often a mistyped name. */
export function ignoredNames(problems: readonly Problem[]): EmailWarning[] {
  return problems.filter(({ name }) => name === 'unknown-property').map(ignoredName);
}

function ignoredName({ field = '', message = '' }: Problem): EmailWarning {
  const hint = message.includes(';') ? message.slice(message.indexOf(';')) : '';
  const Message = `${field.slice(1)} is not known and would be ignored${hint}`;
  return { Name: 'unknown-property', Message, Field: field };
}

export function contentWarnings({ body, attachments }: Submission): EmailWarning[] {
  const found: EmailWarning[] = [];
  if (body.kind !== 'html') return found;
  if (body.text === null) {
    const Message = 'The message has no text part: some readers show nothing, and filters mind it';
    found.push({ Name: 'no-text-part', Message, Field: '/PlainContent' });
  }
  found.push(...pictureWarnings(body.html, new Set(attachments.map(({ contentId }) => contentId ?? ''))));
  if (Buffer.byteLength(body.html) > CLIPPED_HTML_BYTES) {
    const Message = `HTMLContent has more than ${CLIPPED_HTML_BYTES} octets: webmail may show the beginning only`;
    found.push({ Name: 'html-clipped', Message, Field: '/HTMLContent' });
  }
  return found;
}

/** Images that no program can show: `cid:` of a file that is not attached, relative URLs. */
function pictureWarnings(html: string, attached: ReadonlySet<string>): EmailWarning[] {
  const missing = new Set<string>();
  const relative = new Set<string>();
  const sources =
    /\s(?:src|background)\s{0,4}=\s{0,4}(?:"([^"]{1,512})"|'([^']{1,512})'|([^\s"'>]{1,512}))/gi;
  for (const match of html.matchAll(sources)) {
    const source = (match[1] ?? match[2] ?? match[3] ?? '').trim();
    if (/^cid:/i.test(source)) {
      const id = source.slice(4);
      if (!attached.has(id) && !attached.has(unescaped(id))) missing.add(id);
    } else if (source !== '' && !/^[a-z][a-z0-9+.-]{0,31}:/i.test(source) && !source.includes('{{')) {
      relative.add(source);
    }
    if (missing.size + relative.size >= MAX_PICTURES) break;
  }
  const one = (Name: string, Message: string): EmailWarning => ({ Name, Message, Field: '/HTMLContent' });
  return [
    ...[...missing].map((id) =>
      one('cid-missing', `cid:${id} is shown, and no attachment has the ContentId "${id}"`),
    ),
    ...[...relative].map((source) =>
      one('relative-address', `"${source}" leads nowhere from a mail: write the whole address, https://…`),
    ),
  ];
}

function unescaped(id: string): string {
  try {
    return decodeURIComponent(id);
  } catch {
    return id;
  }
}
