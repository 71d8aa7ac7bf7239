/**
 * Members of an email request, or of an object in it, that are not known, and which one was probably meant: names that other services have for
 * the same thing, or a slip of the fingers. Given a parsed object; leaves as many as are asked for, each cut, so that five
 * fit a header.
 */
import { probablyMeant } from '../../../lib/closest.ts';
import type { JsonObject } from '../../../lib/json-object.ts';
import type { PropertyTable } from '../body/json-properties.ts';

/** As many as a header names. */
export const MAX_IGNORED = 5;
const MAX_CHARS = 64;

/** Names that other services use, by ours, in lower case: docs/howto/move-from-another-provider.md has them by service. */
const OTHERS = new Map(
  Object.entries({
    From: 'sender fromemailaddress',
    To: 'recipients personalizations destination',
    ReplyTo: 'reply_to reply_to_list replytoaddresses',
    PlainContent: 'text textbody plain plaintext body',
    HTMLContent: 'html htmlbody content',
    Tags: 'categories o:tag',
    Metadata: 'custom_args emailtags',
    Attachments: 'files attachment inline',
    SendAt: 'scheduled_at o:deliverytime',
    Priority: 'messagestream',
    Sandbox: 'o:testmode mail_settings',
    Tracking: 'trackopens tracklinks tracking_settings o:tracking o:tracking-opens o:tracking-clicks',
    TemplateID: 'template template_id templatename templatealias',
    TemplateVersion: 't:version',
    Variables:
      'templatemodel templatedata dynamic_template_data substitutions recipient-variables t:variables',
  }).flatMap(([ours, theirs]) => theirs.split(' ').map((name) => [name, ours] as const)),
);
/** Of Mailgun, with a name of the sender's own behind them. */
const PREFIXES = new Map([
  ['h:', 'Headers'],
  ['v:', 'Metadata'],
]);

export interface UnknownMember {
  name: string;
  /** The member that was probably meant; '' = none is near. */
  meant: string;
}

/** Those with a value, at most `most`; null counts as absent. */
export function unknownMembers(
  object: JsonObject,
  table: PropertyTable,
  most: number,
): readonly UnknownMember[] {
  const found: UnknownMember[] = [];
  for (const name in object) {
    if (table.exact.has(name) || object[name] === null) continue;
    if (name.length <= MAX_CHARS && table.lower.has(name.toLowerCase())) continue;
    found.push({ name: name.slice(0, MAX_CHARS), meant: meantBy(name, table.names) });
    if (found.length === most) break;
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
  const ours = OTHERS.get(lower) ?? PREFIXES.get(lower.slice(0, 2)) ?? '';
  return names.includes(ours) ? ours : probablyMeant(name, names);
}
