/** Masks the address of an erased person in texts. `key`: the address as suppressions compare it. */
import type { AddressLists, Mailbox } from '../../model/message.ts';
import { suppressionKey } from '../../model/suppression.ts';

/** The text that replaces an erased address. */
export const ERASED = 'erased@erased.invalid';

/** Of delivery `d`: its recipient was not erased. Whoever was takes no facts any more, as if the delivery were deleted. */
export const NOT_ERASED = `d.address <> '${ERASED}'`;

/** A text without the address. */
export type Mask = (text: string) => string;

/** Replaces a whole address in any case; in `joann@…`, `ann@…` is not replaced. */
export function maskOf(key: string): Mask {
  const escaped = key.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  const pattern = new RegExp(`(?<![\\p{L}\\p{N}._+-])${escaped}(?![\\p{L}\\p{N}-]|\\.[\\p{L}\\p{N}])`, 'giu');
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
