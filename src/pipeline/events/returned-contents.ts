/**
 * What a returned mail says: a report about a delivery, a complaint, who signed it, DMARC figures. Each is read when it is
 * first asked for, in a turn of its own, and once, however many targets the mail has. Throws `KeysAway` while it is unknown
 * who signed it, because the DNS does not tell the keys.
 */
import type { Clock } from '../../lib/clock.ts';
import type { Turn } from '../../lib/turns.ts';
import { namesUpFrom } from '../../mail/address-text.ts';
import { type FeedbackReport, readFeedbackReport } from '../../mail/arf.ts';
import { parseAuthor } from '../../mail/author-field.ts';
import { readTextBounce, withReasonsOf } from '../../mail/bounce-text.ts';
import { type KeyLookup, verifyDkim } from '../../mail/dkim-verify.ts';
import { type DsnReport, readDsn } from '../../mail/dsn.ts';
import { fieldOf, type MimePart, readMime } from '../../mail/mime-tree.ts';
import type { Store } from '../../store/store.ts';
import { type BounceReport, byAddress } from './bounce-fact.ts';
import { takeDmarcReport } from './dmarc-reports.ts';
import type { ReturnTarget } from './return-target.ts';

export interface ContentsDeps {
  store: Pick<Store, 'getDomain' | 'addDmarcReport'>;
  /** Looks up DKIM keys of senders of reports. */
  keys: KeyLookup;
  clock: Clock;
}

export interface ReturnedMail {
  targets: readonly ReturnTarget[];
  /** null: the null sender. */
  envelopeFrom: string | null;
  /** As received, with CRLF line ends. */
  bytes: Uint8Array;
  receivedAt: number;
}

export interface Contents {
  mime: MimePart;
  feedback(): Promise<FeedbackReport | null>;
  /** A report of RFC 3464. */
  dsn(): Promise<DsnReport | null>;
  /** That, or a bounce written for people. */
  bounce(): Promise<BounceReport | null>;
  /** The provider that signed it, by its first valid signature; null: none. */
  signer(): Promise<string | null>;
  /** Stores what it says as a DMARC report; null, or why it says nothing. */
  dmarcReport(): Promise<string | null>;
}

/** Octets of a message that are read; the rest is attachments and returned contents. */
const MAX_READ_BYTES = 512 * 1024;
/** After this time a signature whose key could not be looked up does not count. */
const KEYS_AWAITED_MS = 15 * 60_000;
/** Domains of signatures of providers that send complaints. */
const FEEDBACK_SIGNERS: ReadonlySet<string> = new Set(['arf.mail.yahoo.com']);

/** No answer of the DNS about the keys of signatures. */
export class KeysAway extends Error {}

export function contentsOf(
  { store, keys, clock }: ContentsDeps,
  { bytes, receivedAt }: ReturnedMail,
  turn: Turn,
): Contents {
  const once = <Result>(read: () => Result | Promise<Result>): (() => Promise<Result>) => {
    const inItsTurn = async () => {
      await turn();
      return read();
    };
    let result: Promise<Result> | null = null;
    return () => (result ??= inItsTurn());
  };
  const mime = readMime(bytes.subarray(0, MAX_READ_BYTES));
  const dsn = once(() => readDsn(mime));
  const textBounce = once(() => readTextBounce(mime));
  return {
    mime,
    feedback: once(() => readFeedbackReport(mime)),
    dsn,
    bounce: once(async () => {
      const fields = await dsn();
      const report = fields === null ? await textBounce() : withReasonsOf(mime, fields);
      return report === null ? null : byAddress(report);
    }),
    signer: once(() => signedBy(FEEDBACK_SIGNERS)),
    dmarcReport: once(() => {
      const reporter = async () => (await signedBy(domainsAbove(mime))) ?? '';
      return takeDmarcReport({ store, clock }, { mime, turn, signedBy: reporter });
    }),
  };

  /** The first of these domains by which there is a valid signature. While that cannot be known, the mail waits. */
  async function signedBy(domains: ReadonlySet<string>): Promise<string | null> {
    const verdicts = await verifyDkim(bytes, { domains, lookUp: keys, nowMs: clock.now(), turn });
    const valid = verdicts.find(({ result }) => result === 'pass');
    const isUnknown = valid === undefined && verdicts.some(({ result }) => result === 'unknown');
    if (isUnknown && clock.now() - receivedAt < KEYS_AWAITED_MS) throw new KeysAway();
    return valid?.domain ?? null;
  }
}

/** The domain of the author and those above it: a signature of one of them is aligned, as DMARC asks by default. */
function domainsAbove(mime: MimePart): ReadonlySet<string> {
  const found = parseAuthor(fieldOf(mime, 'from') ?? '');
  return new Set(found.ok ? namesUpFrom(found.author.address.domain) : []);
}
