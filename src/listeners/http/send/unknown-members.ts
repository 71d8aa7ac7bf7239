/**
 * Members of an email request that are not known, and which one was probably meant: names that other services have for
 * the same thing, or a slip of the fingers. Given a parsed object; leaves at most five, each cut, so that they fit a header.
 */
import { probablyMeant } from '../../../lib/closest.ts';
import type { JsonObject, PropertyTable } from '../body/json-properties.ts';

const MAX_SHOWN = 5;
const MAX_CHARS = 64;

/** Names that other services use, with ours. */
const OTHERS: Readonly<Record<string, string>> = {
  text: 'PlainContent',
  textbody: 'PlainContent',
  plain: 'PlainContent',
  plaintext: 'PlainContent',
  body: 'PlainContent',
  content: 'HTMLContent',
  html: 'HTMLContent',
  htmlbody: 'HTMLContent',
  sender: 'From',
  recipients: 'To',
  reply_to: 'ReplyTo',
  template: 'TemplateID',
  template_id: 'TemplateID',
  templatename: 'TemplateID',
  files: 'Attachments',
};

export interface UnknownMember {
  name: string;
  /** The member that was probably meant; '' = none is near. */
  meant: string;
}

/** Those with a value; null counts as absent. */
export function unknownMembers(object: JsonObject, table: PropertyTable): readonly UnknownMember[] {
  const found: UnknownMember[] = [];
  for (const name in object) {
    if (table.exact.has(name) || object[name] === null) continue;
    if (name.length <= MAX_CHARS && table.lower.has(name.toLowerCase())) continue;
    found.push({ name: name.slice(0, MAX_CHARS), meant: meantBy(name, table.names) });
    if (found.length === MAX_SHOWN) break;
  }
  return found;
}

/** As a header's value (RFC 9651 strings): `"text";meant="PlainContent", "x"`. */
export function asHeader(members: readonly UnknownMember[]): string {
  const quoted = (text: string) => `"${text.replace(/[^\x20-\x7e]|["\\]/g, '?')}"`;
  return members
    .map(({ name, meant }) => `${quoted(name)}${meant === '' ? '' : `;meant=${quoted(meant)}`}`)
    .join(', ');
}

function meantBy(name: string, names: readonly string[]): string {
  if (name.length > MAX_CHARS) return '';
  const lower = name.toLowerCase();
  if (Object.hasOwn(OTHERS, lower)) return OTHERS[lower] ?? '';
  return probablyMeant(name, names);
}
