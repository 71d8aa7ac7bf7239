/**
 * Personal links: links in a message that lead one reader's program back to us (open pixel, tracked links, unsubscribe
 * addresses), and the slots of fixed length in the composed bytes into which delivery writes each recipient's own
 * token. The message is composed once; only these octets differ between its copies.
 */
import { isLoopbackHost } from '../lib/loopback.ts';
import type { DomainSettings } from './domain.ts';

/** What a sender requested; null = the domain's setting. */
export interface PersonalWish {
  opens: boolean | null;
  clicks: boolean | null;
  listUnsubscribe: boolean | null;
}

/** A sender that requested nothing. */
export const NO_WISH: PersonalWish = { opens: null, clicks: null, listUnsubscribe: null };

/** The settings of a sender domain for messages that say nothing. */
export type PersonalSettings = Pick<DomainSettings, 'tracking' | 'listUnsubscribe' | 'trackingHost'>;

/**
 * What links of a base are good for: `one-click` https, which a mail program may call (RFC 8058 §3.1); `page` plain
 * http, which a person may open; `none` an address that only this machine has.
 */
export type Reach = 'one-click' | 'page' | 'none';

/** Of a base that readers elsewhere get. */
export function reachOf(base: string): Reach {
  const url = URL.parse(base);
  if (url === null || isLoopbackHost(url.hostname)) return 'none';
  return url.protocol === 'https:' ? 'one-click' : 'page';
}

/** What compose adds to one message. */
export interface PersonalOptions {
  /** Prefix of every link, without a slash at its end: `https://track.example.com`. */
  base: string;
  reach: Reach;
  /** The host that the tokens are bound to: the tracking host in lower case, '' for the public URL. */
  host: string;
  opens: boolean;
  clicks: boolean;
  unsubscribe: boolean;
  /** Domain of the unsubscribe address; null = no mail is received there. */
  mailtoDomain: string | null;
}

/** `open` and `click` tokens, `unsubscribe` in a URL, `mailto` the local part of an unsubscribe address. */
export type SlotKind = 'open' | 'click' | 'unsubscribe' | 'mailto';

/** The slot of one token: where its octets begin in the composed message, and what the token says. */
export interface TokenSlot {
  kind: SlotKind;
  offset: number;
  /** Number of the link in its message, from 0; 0 for the others. */
  link: number;
  /** Digest of a link's target; '' for the others. */
  digest: string;
}

/** All slots of a message in the order of their octets. */
export interface TokenSlots {
  host: string;
  /** Stored under this name. */
  places: readonly TokenSlot[];
  /** Unsubscribing was to be offered, but no link of ours leads here. */
  unreachable?: true;
}

/** Whether a reader can unsubscribe by one of our links. */
export function offersUnsubscribe(slots: TokenSlots | undefined): boolean {
  return slots?.places.some(({ kind }) => kind === 'unsubscribe' || kind === 'mailto') ?? false;
}

/** Whether an opt-out stops such mail in any lane: unsubscribing is offered, or should have been. */
export function respectsOptOuts(slots: TokenSlots | undefined): boolean {
  return slots?.unreachable === true || offersUnsubscribe(slots);
}

/** Octets of a token in a URL, and of the local part of an unsubscribe address. */
const TOKEN_OCTETS = 32;
const MAILTO_OCTETS = 33;

/** The content of a slot until delivery: as long as the token that replaces it, and never valid. */
export function placeholder(kind: SlotKind): string {
  return '0'.repeat(slotOctets(kind));
}

export function slotOctets(kind: SlotKind): number {
  return kind === 'mailto' ? MAILTO_OCTETS : TOKEN_OCTETS;
}

/** The same bytes with each slot filled; `texts` in the order of the slots, each exactly as long as its slot. */
export function fillSlots(bytes: Uint8Array, { places }: TokenSlots, texts: readonly string[]): Uint8Array {
  const filled = Buffer.from(bytes);
  places.forEach(({ kind, offset }, i) => {
    const text = texts[i] ?? '';
    const octets = slotOctets(kind);
    if (text.length !== octets || offset < 0 || offset + octets > filled.length) {
      throw new RangeError('a personal link does not fit its slot');
    }
    filled.write(text, offset, 'latin1');
  });
  return filled;
}

/** What a message gets, given its lane, its own header and the domain's settings. */
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
