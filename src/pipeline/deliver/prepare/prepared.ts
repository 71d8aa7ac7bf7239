/**
 * Prepares a delivery for sending: reads its content, writes its tokens into the token slots, signs it, and adds its
 * trace header and return path. Tokens depend only on the delivery, so every attempt has the same ones.
 */
import { BoundedMap } from '../../../lib/bounded-map.ts';
import type { Clock } from '../../../lib/clock.ts';
import { createSharedTurns, inTurns } from '../../../lib/turns.ts';
import type { PersonalTokens } from '../../../mail/personal-token.ts';
import { toSevenBitInSteps } from '../../../mail/seven-bit.ts';
import type { ReturnPathTokens } from '../../../mail/verp.ts';
import type { ClaimedDelivery } from '../../../model/delivery.ts';
import type { DomainSettings } from '../../../model/domain.ts';
import { fillSlots, type TokenSlots } from '../../../model/personal.ts';
import type { DsnParameters } from '../../../smtp/client-types.ts';
import type { Store } from '../../../store/store.ts';
import type { ReadyItem } from '../../queue/ready-item.ts';
import type { Outcome } from '../outcome/outcome.ts';
import { NO_FACTS } from '../outcome/outcome.ts';
import { createContents } from './contents.ts';
import { mayShare, shareKey } from './grouping.ts';
import { createPersonalTexts } from './personal-texts.ts';
import type { Signing, SigningResult } from './signing.ts';

export interface Prepared {
  item: ReadyItem;
  /** When it was prepared (monotonic), with the keys and settings of its sender domain at that time. */
  preparedAtMs: number;
  /** '' for the null sender. */
  mailFrom: string;
  /** Header lines before the content: signature, then the unsigned reference. */
  prefix: Uint8Array;
  content: Uint8Array;
  /** Why it is unsigned, or null. */
  note: string | null;
  /** It may only be sent over verified TLS. */
  requireTls: boolean;
  /** If its outcome is unknown it is not sent again, so that is to be rare. */
  atMostOnce: boolean;
  /** Its recipient domain may have its own TLS policy, and then shares no connection with others. */
  asksForTls: boolean;
  /** The content has octets above 127. */
  eightBit: boolean;
  dsn: DsnParameters;
  /** The form for several recipients in one transaction; null = not possible. */
  shared: Shared | null;
  /** The texts for the slots of this copy; absent = it has none. */
  fill?: readonly string[];
}

/** The parts of a shared transaction that replace those naming one recipient. */
export type Shared = Pick<Prepared, 'mailFrom' | 'prefix' | 'dsn'>;

export type PrepareResult =
  | { kind: 'ready'; prepared: Prepared }
  | { kind: 'outcome'; outcome: Extract<Outcome, { kind: 'held' | 'failed' }> };

export interface Preparer {
  /** Rejects only if the store cannot be read. */
  prepare(item: ReadyItem): Promise<PrepareResult>;
  /**
   * Copies of this message to this domain were sent together: when they are tried again, they keep that return path.
   */
  sharedBy(delivery: ClaimedDelivery): void;
  /**
   * The same for a server without 8BITMIME (RFC 6152): its parts re-encoded, signed again. `impossible` if that would
   * change something signed or encrypted.
   */
  inSevenBit(prepared: Prepared): Promise<PrepareResult | { kind: 'impossible'; why: string }>;
}

/** The settings of a sender domain that delivery uses. */
export interface SenderSettings {
  settingsOf(domain: string): Promise<Pick<DomainSettings, 'atMostOnce' | 'requireTls' | 'returnPathHost'>>;
}

interface Deps {
  clock: Pick<Clock, 'monotonicMs'>;
  store: Pick<Store, 'readContent' | 'readTokenSlots'>;
  signing: Signing;
  tokens: ReturnPathTokens;
  senders: SenderSettings;
  personalTokens: PersonalTokens;
  /** Whether its recipient domain may have its own TLS policy; never with a relay. */
  asksForTls(delivery: ClaimedDelivery): Promise<boolean>;
}

/** Messages whose copies were sent together, as far as known. */
const MAX_WENT = 10_000;
/** Messages whose slots are cached: their recipients are delivered close together. */
const KEPT = 256;

export function createPreparer(
  { clock, store, signing, tokens, personalTokens, senders, asksForTls }: Deps,
  options: { bounceDomain: string },
): Preparer {
  const turn = createSharedTurns(clock);
  const contents = createContents(store);
  const textsFor = createPersonalTexts(personalTokens, tokens);
  const kept = new BoundedMap<number, Promise<TokenSlots | null>>(KEPT);
  /** By `shareKey`. */
  const went = new BoundedMap<string, true>(MAX_WENT);
  return {
    async prepare(item) {
      const { delivery } = item;
      const sender = await senders.settingsOf(delivery.senderDomain);
      // Reclaimed after a crash: it is unknown whether it was sent. If a person requested it again after that, they
      // knew.
      if (sender.atMostOnce && delivery.mayBeDuplicate && delivery.lastCategory !== 'outcome_unknown') {
        const detail =
          'the server stopped while it was being sent; it may have arrived and this domain sends at most once';
        return {
          kind: 'outcome',
          outcome: { kind: 'failed', category: 'outcome_unknown', detail, facts: NO_FACTS },
        };
      }
      const shared =
        item.content?.bytes ?? (await contents.of(delivery.messageSeq, delivery.wasScheduled === true));
      const places = delivery.personal === true ? await placesOf(delivery.messageSeq) : null;
      if (shared === null || (places === null && delivery.personal === true)) {
        const detail = 'the content of this message is no longer kept';
        return {
          kind: 'outcome',
          outcome: { kind: 'failed', category: 'content_gone', detail, facts: NO_FACTS },
        };
      }
      // There may be fifty copies with a thousand links each at once.
      if (places !== null) await turn();
      const fill = places === null ? undefined : textsFor(places, delivery.id);
      const content = places === null || fill === undefined ? shared : fillSlots(shared, places, fill);
      const signed = await signing.sign(delivery, content);
      if (signed.kind === 'held') return { kind: 'outcome', outcome: signed };
      const host = sender.returnPathHost ?? options.bounceDomain;
      const together = mayShare(delivery) ? sharedOf(delivery, signed, host) : null;
      const ref = tokens.ref(delivery.id);
      // A greylisting server recognises a sender by its return path.
      const again = together !== null && went.has(shareKey(delivery));
      const asks = await asksForTls(delivery);
      return {
        kind: 'ready',
        prepared: {
          item,
          // The time of preparing does not count as waiting; otherwise a slow machine would prepare forever.
          preparedAtMs: clock.monotonicMs(),
          mailFrom:
            delivery.nullSender === true
              ? ''
              : again
                ? together.mailFrom
                : `${tokens.make('b', delivery.id)}@${host}`,
          shared: together,
          prefix: prefixOf(ref, signed),
          content,
          note: signed.kind === 'unsigned' ? signed.reason : null,
          requireTls: sender.requireTls,
          atMostOnce: sender.atMostOnce,
          asksForTls: asks,
          eightBit: delivery.eightBit || delivery.needsSmtpUtf8,
          // Notices come to our return path, whatever the sender requested; the token identifies the copy.
          dsn: { envid: ref },
          ...(fill === undefined ? {} : { fill }),
        },
      };
    },
    sharedBy(delivery) {
      went.set(shareKey(delivery), true);
    },
    async inSevenBit(prepared) {
      const { delivery } = prepared.item;
      const made = await inTurns(toSevenBitInSteps(prepared.content), turn);
      if (made.kind === 'impossible') return made;
      const signed = await signing.signOnce(delivery, made.bytes, made.bodyOffset);
      if (signed.kind === 'held') return { kind: 'outcome', outcome: signed };
      return {
        kind: 'ready',
        prepared: {
          ...prepared,
          preparedAtMs: clock.monotonicMs(),
          content: made.bytes,
          prefix: prefixOf(tokens.ref(delivery.id), signed),
          shared: prepared.shared === null ? null : { ...prepared.shared, prefix: headerOf(signed) },
          eightBit: false,
        },
      };
    },
  };

  /** The message without what names one recipient. */
  function sharedOf({ messageSeq, messageId }: ClaimedDelivery, signed: SigningResult, host: string): Shared {
    return {
      mailFrom: `${tokens.make('g', messageSeq)}@${host}`,
      prefix: headerOf(signed),
      dsn: { envid: messageId },
    };
  }

  function placesOf(messageSeq: number): Promise<TokenSlots | null> {
    const known = kept.get(messageSeq);
    if (known !== undefined) return known;
    const read = store.readTokenSlots({ messageSeq });
    kept.set(messageSeq, read);
    // After a failure of the store, it is read again.
    read.catch(() => kept.delete(messageSeq));
    return read;
  }
}

function prefixOf(ref: string, signed: SigningResult): Uint8Array {
  const reference = Buffer.from(`X-Postrider-Ref: ${ref}\r\n`, 'latin1');
  return signed.kind === 'signed' ? Buffer.concat([signed.header, reference]) : reference;
}

function headerOf(signed: SigningResult): Uint8Array {
  return signed.kind === 'signed' ? signed.header : new Uint8Array(0);
}
