/**
 * The message that is being sent on a connection to a mail server in memory, from MAIL until its last byte: for whom it
 * is, and what the wire gets to know of it. Throws if a return path is not one of ours.
 */
import type { Clock } from '../lib/clock.ts';
import type { ReturnPathTokens } from '../mail/verp.ts';
import type { OpenConnection, Wire, WireTransaction } from './wire.ts';

/** What MAIL began. */
interface Envelope {
  /** The delivery of its return path, or the message whose copies go together. */
  of: { deliveryId: number } | { messageSeq: number };
  atMs: number;
  /** MAIL was refused; `blamesPath`: because of the sender's address or connection. */
  refused: boolean;
  blamesPath: boolean;
  /** Known to the wire, although its recipient is not yet. */
  told: WireTransaction | null;
  /** Of the recipients that were accepted. */
  accepted: WireTransaction[];
}

export interface EnvelopeDeps {
  clock: Clock;
  wire: Wire;
  tokens: ReturnPathTokens;
  /** The delivery of a message to an address, for transactions with several; if absent, there are none. */
  deliveryOf?(messageSeq: number, address: string): number;
}

export function createEnvelope(deps: EnvelopeDeps, connection: OpenConnection, isSecure: () => boolean) {
  const { clock, wire, tokens } = deps;
  const openedAtMs = clock.monotonicMs();
  let now: Envelope | null = null;

  return {
    isOpen: () => now !== null,
    /** How many recipients were accepted. */
    accepted: () => now?.accepted.length ?? 0,
    /** MAIL has come. */
    begin(line: string, atMs: number): void {
      now = envelopeOf(line, atMs);
      wire.begin(connection);
      if ('messageSeq' in now.of) return;
      now.told = transactionOf(now, null);
      wire.envelope(now.told);
    },
    /** MAIL is refused. */
    refuse(blamesPath: boolean): void {
      if (now === null) return;
      Object.assign(now, { refused: true, blamesPath });
      if (now.told !== null) now.told.blamedPath = blamesPath;
    },
    /** RCPT has come; null: there was no MAIL, or it was refused. */
    recipient(line: string): WireTransaction | null {
      if (now === null) return null;
      const address = addressOf(line);
      const transaction = now.told ?? transactionOf(now, address);
      transaction.address = address;
      if (now.told === null) wire.envelope(transaction);
      now.told = null;
      return now.refused ? null : transaction;
    },
    accept(transaction: WireTransaction): void {
      now?.accepted.push(transaction);
    },
    /** The whole message has come: its copies for the accepted recipients. */
    end(text: string): readonly WireTransaction[] {
      const copies = now?.accepted ?? [];
      if (copies.length === 0) return [];
      now = null;
      const messageId = /^message-id:\s*<([^<>]*)>/im.exec(text)?.[1] ?? '';
      for (const copy of copies) Object.assign(copy, { messageId, bodyAtMs: clock.monotonicMs() });
      return copies;
    },
    forget(): void {
      now = null;
    },
    /** For the client, what it sent and was not answered may have been accepted. `chunking`: also the next messages. */
    leave(unread: string, atMs: number, chunking: boolean): void {
      let envelope = now !== null && now.told === null ? now : null;
      for (const [line] of unread.matchAll(/^(?:MAIL FROM|RCPT TO):<[^>]*>/gm)) {
        if (line.startsWith('MAIL')) envelope = chunking ? envelopeOf(line, atMs) : null;
        else if (envelope !== null) wire.unread(transactionOf(envelope, addressOf(line)));
      }
    },
  };

  function envelopeOf(line: string, atMs: number): Envelope {
    const local = /<([^<>@]*)@/.exec(line)?.[1] ?? '';
    const token = tokens.parse(local);
    if (!token.ok || typeof token.id !== 'number') throw new Error(`not a return path of ours: ${line}`);
    return {
      of: token.purpose === 'g' ? { messageSeq: token.id } : { deliveryId: token.id },
      ...{ atMs, refused: false, blamesPath: false, told: null, accepted: [] },
    };
  }

  function transactionOf({ of, atMs, blamesPath }: Envelope, address: string | null): WireTransaction {
    return {
      deliveryId: 'deliveryId' in of ? of.deliveryId : deliveryOf(of.messageSeq, address ?? ''),
      address,
      site: connection.site,
      source: connection.source,
      atMs,
      bodyAtMs: null,
      messageId: null,
      takenAtMs: null,
      confirmedAtMs: null,
      blamedPath: blamesPath,
      secure: isSecure(),
      openedAtMs,
    };
  }

  function deliveryOf(messageSeq: number, address: string): number {
    if (deps.deliveryOf === undefined) throw new Error('several copies go together, and nothing names them');
    return deps.deliveryOf(messageSeq, address);
  }
}

function addressOf(line: string): string {
  return /<([^<>]*)>/.exec(line)?.[1] ?? '';
}
