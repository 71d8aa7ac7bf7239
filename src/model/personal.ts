/**
 * Personal links: what in a message leads one reader's program back to us (the open pixel, tracked links, the
 * unsubscribe addresses), and the places of fixed length that hold them in the composed bytes until delivery writes
 * each recipient's own token there. The message is composed once; only these octets differ between its copies.
 */
import type { DomainSettings } from './domain.ts';

/** What a sender asked for; null = as the domain says. */
export interface PersonalWish {
  opens: boolean | null;
  clicks: boolean | null;
  listUnsubscribe: boolean | null;
}

/** What a sender domain wants where a message says nothing. */
export type PersonalSettings = Pick<DomainSettings, 'tracking' | 'listUnsubscribe' | 'trackingHost'>;

/** What compose puts into one message. */
export interface PersonalOptions {
  /** In front of every link, without a slash at its end: `https://track.example.com`. */
  base: string;
  /** What the tokens are bound to: the tracking host in lower case, '' for the public URL. */
  host: string;
  opens: boolean;
  clicks: boolean;
  unsubscribe: boolean;
  /** Domain of the unsubscribe address; null = no mail is taken there. */
  mailtoDomain: string | null;
}

/** `open` and `click` tokens, `unsubscribe` in a URL, `mailto` the local part of an unsubscribe address. */
export type PlaceKind = 'open' | 'click' | 'unsubscribe' | 'mailto';

/** One token's place: where its octets begin in the composed message, and what it says. */
export interface TokenSlot {
  kind: PlaceKind;
  offset: number;
  /** Number of the link in its message, from 0; 0 for the others. */
  link: number;
  /** Digest of a link's target; '' for the others. */
  digest: string;
}

/** All places of a message in the order of their octets. */
export interface TokenSlots {
  host: string;
  places: readonly TokenSlot[];
}

/** Whether a reader can unsubscribe by a link of ours. */
export function offersUnsubscribe(places: TokenSlots | undefined): boolean {
  return places?.places.some(({ kind }) => kind === 'unsubscribe') ?? false;
}

/** Octets of a token in a URL, and of an unsubscribe address's local part. */
export const TOKEN_OCTETS = 32;
export const MAILTO_OCTETS = 33;

/** What stands in a place until delivery: as long as what replaces it, and never valid. */
export function placeholder(kind: PlaceKind): string {
  return '0'.repeat(placeOctets(kind));
}

export function placeOctets(kind: PlaceKind): number {
  return kind === 'mailto' ? MAILTO_OCTETS : TOKEN_OCTETS;
}

/** The same bytes with a text of exactly the place's length in each place; `texts` in the order of the places. */
export function fillPlaces(bytes: Uint8Array, { places }: TokenSlots, texts: readonly string[]): Uint8Array {
  const filled = Buffer.from(bytes);
  places.forEach(({ kind, offset }, i) => {
    const text = texts[i] ?? '';
    const octets = placeOctets(kind);
    if (text.length !== octets || offset < 0 || offset + octets > filled.length) {
      throw new RangeError('a personal link does not fit its place');
    }
    filled.write(text, offset, 'latin1');
  });
  return filled;
}

/** What a message asks for, given its lane, its own header, and what its domain says. */
export function personalChoice(
  wish: PersonalWish | null,
  settings: PersonalSettings | null,
  message: { lane: 'critical' | 'normal' | 'bulk'; ownListUnsubscribe: boolean },
): { opens: boolean; clicks: boolean; unsubscribe: boolean } | null {
  const opens = wish?.opens ?? settings?.tracking.opens ?? false;
  const clicks = wish?.clicks ?? settings?.tracking.clicks ?? false;
  const asked = wish?.listUnsubscribe ?? settings?.listUnsubscribe ?? false;
  const unsubscribe =
    !message.ownListUnsubscribe && (message.lane === 'bulk' || (message.lane === 'normal' && asked));
  return opens || clicks || unsubscribe ? { opens, clicks, unsubscribe } : null;
}
