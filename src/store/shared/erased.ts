/**
 * What is stored instead of the address of an erased person: a mask in texts, a hash in suppressions. `key`: the address as
 * suppressions compare it.
 */
import { createHmac } from 'node:crypto';
import type { AddressLists, Mailbox } from '../../model/message.ts';
import { suppressionKey } from '../../model/suppression.ts';

/** The text that replaces an erased address. */
export const ERASED = 'erased@erased.invalid';

/** Of delivery `d`: its recipient was not erased. Whoever was takes no facts any more, as if the delivery were deleted. */
export const NOT_ERASED = `d.address <> '${ERASED}'`;

/** A text without the address. */
export type Mask = (text: string) => string;

/** What may stand before an address: also an escape of JSON or of a URL, whose last letter belongs to no word. */
const BEFORE = String.raw`(?<=^|[^\p{L}\p{N}._+-]|(?<!\\)(?:\\\\)*\\(?:[bfnrt]|u00[0-3][\da-f])|%(?:[01]|2(?![bde])|3(?=[a-f]))[\da-f])`;

/** Replaces a whole address in any case, also as a URL has it (`ann%40…`); in `joann@…`, `ann@…` is not replaced. */
export function maskOf(key: string): Mask {
  const address = Array.from(key.toWellFormed(), (letter) => {
    const plain = letter.replace(/[.*+?^${}()|[\]\\]/, '\\$&');
    const encoded = encodeURIComponent(letter);
    return encoded === letter ? plain : `(?:${plain}|${encoded})`;
  }).join('');
  const pattern = new RegExp(`${BEFORE}${address}(?![\\p{L}\\p{N}-]|\\.[\\p{L}\\p{N}])`, 'giu');
  return (text) => text.replace(pattern, ERASED);
}

/** `found`: somebody in the lists has the address; those become nameless. */
export function maskLists(lists: AddressLists, key: string): { lists: AddressLists; found: boolean } {
  let found = false;
  const one = (mailbox: Mailbox): Mailbox => {
    if (suppressionKey(mailbox.address) !== key) return mailbox;
    found = true;
    return { name: '', address: ERASED };
  };
  const masked = {
    from: one(lists.from),
    to: lists.to.map(one),
    cc: lists.cc.map(one),
    bcc: lists.bcc.map(one),
    replyTo: lists.replyTo.map(one),
  };
  return { lists: masked, found };
}

/** A message with more events counts as one that may mention anybody. */
export const EVENTS_READ = 500;

/** The key of the hashes in this database, in hexadecimal digits as `secret`; no row if nobody was erased here. */
export const ERASING_KEY = "SELECT {hex(value)|value} AS secret FROM meta WHERE name = 'erasing_key'";

/** The keys under which these would be suppressed if their persons were erased, in their order; none if nobody was. */
export function erasedKeys(stored: { secret: string } | undefined, keys: readonly string[]): string[] {
  return stored === undefined ? [] : keys.map((key) => hashOf(stored.secret, key));
}

/** The key under which suppressions of an erased person are stored. The address cannot be read from it. */
export function hashOf(secret: string, key: string): string {
  return `hmac:${createHmac('sha256', Buffer.from(secret, 'hex')).update(key).digest('hex')}`;
}
