/**
 * The texts for the token slots of one recipient's copy: the tokens of its open pixel, its links and its unsubscribe
 * addresses. Delivery writes them into the copy that it sends, and views of that copy get the same ones.
 */
import type { PersonalTokens } from '../../../mail/personal-token.ts';
import type { ReturnPathTokens } from '../../../mail/verp.ts';
import type { TokenSlot, TokenSlots } from '../../../model/personal.ts';

/** One text per slot, in the order of the slots. */
export type PersonalTexts = (places: TokenSlots, deliveryId: number) => readonly string[];

/** Made with the keys of this server. */
export function createPersonalTexts(
  personal: PersonalTokens,
  returnPaths: Pick<ReturnPathTokens, 'make'>,
): PersonalTexts {
  return ({ host, places }, deliveryId) => {
    // A link that occurs ten thousand times has one token.
    const made = new Map<string, string>();
    return places.map((slot) => {
      const key = slot.kind === 'click' ? `${slot.link} ${slot.digest}` : slot.kind;
      const known = made.get(key);
      if (known !== undefined) return known;
      const text = textFor(slot, host, deliveryId);
      made.set(key, text);
      return text;
    });
  };

  function textFor({ kind, link, digest }: TokenSlot, host: string, deliveryId: number): string {
    switch (kind) {
      case 'open':
        return personal.make({ purpose: 'o', host, digest: '' }, deliveryId, 0);
      case 'click':
        return personal.make({ purpose: 'c', host, digest }, deliveryId, link);
      case 'unsubscribe':
        return personal.make({ purpose: 'u', host, digest: '' }, deliveryId, 0);
      case 'mailto':
        return returnPaths.make('u', deliveryId);
    }
  }
}
