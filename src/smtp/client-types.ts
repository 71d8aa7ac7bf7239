/**
 * The types of the SMTP client: where to connect, what to send, and the result. Results are values. A reply is
 * reported as the server sent it; what it means for the message is decided elsewhere.
 */
import type { Clock } from '../lib/clock.ts';
import type { Connect } from '../net/sockets.ts';
import type { TlsContexts, TlsFacts, TlsMode } from './client-tls.ts';
import type { ConversationLog } from './conversation.ts';
import type { DaneRequest } from './dane.ts';
import type { Capabilities } from './ehlo.ts';
import type { Reply } from './reply.ts';

/** Limits in milliseconds for each step (RFC 5321 §4.5.3.2). Each ends the connection. */
export interface Timeouts {
  connectMs: number;
  bannerMs: number;
  ehloMs: number;
  /** For the STARTTLS reply, and again for the handshake. */
  startTlsMs: number;
  authMs: number;
  mailMs: number;
  /** For MAIL after an answered one on the same connection; longer for a server known to be slow. */
  laterMailMs: number;
  rcptMs: number;
  dataMs: number;
  /** Until the system has taken the next slice (≤ 64 KiB) of the body. */
  bodyMs: number;
  /** Until the reply to the final dot; a shorter limit would cause duplicates. */
  dotMs: number;
  rsetMs: number;
  /** How long a socket may stay open after QUIT. */
  quitMs: number;
}

export const DEFAULT_TIMEOUTS: Timeouts = {
  connectMs: 15_000,
  bannerMs: 60_000,
  ehloMs: 60_000,
  startTlsMs: 30_000,
  authMs: 30_000,
  mailMs: 300_000,
  laterMailMs: 15_000,
  rcptMs: 300_000,
  dataMs: 120_000,
  bodyMs: 180_000,
  dotMs: 600_000,
  rsetMs: 20_000,
  quitMs: 2_000,
};

export interface Target {
  /** Name of the server: SNI, and the name its certificate is checked for. */
  host: string;
  /** The IP address to connect to. */
  address: string;
  port: number;
  /** TLS from the first byte (port 465). */
  implicitTls: boolean;
}

export interface OpenOptions {
  clock: Clock;
  /** Our name in EHLO; `[192.0.2.1]` if there is none. */
  heloName: string;
  tls: TlsMode;
  /** For the mode `dane`. */
  dane?: DaneRequest | undefined;
  /** As what a verified certificate is reported; default `pkix`. */
  verifiedAs?: 'mta-sts' | undefined;
  auth?: { user: string; pass: string } | undefined;
  /** AUTH without verified TLS: only for a peer on loopback. */
  allowPlaintextAuth?: boolean | undefined;
  timeouts?: Partial<Timeouts> | undefined;
  /** Source address to bind, an IP literal. */
  localAddress?: string | undefined;
  /** How connections are opened; default: TCP. */
  connect?: Connect | undefined;
  /** Aborts the opening (not an open session). */
  signal?: AbortSignal | undefined;
  /** Shared by all sessions, because creating a TLS context takes milliseconds. Default: each session creates one. */
  tlsContexts?: TlsContexts | undefined;
  /** Offer few key-exchange groups, for servers that fail with a ClientHello of more than one segment. */
  smallClientHello?: boolean | undefined;
  /** Why this session uses no TLS although it was wanted; shown in the conversation and by the session. */
  inClear?: string | undefined;
}

export type OpenStage = 'connect' | 'banner' | 'ehlo' | 'starttls' | 'tls' | 'auth';

export type OpenFailureReason =
  | 'refused'
  | 'timeout'
  | 'unreachable'
  /** This machine could not open the connection: says nothing about the server. */
  | 'local'
  /** The server closed or reset the connection. */
  | 'reset'
  /** The server refused; see `reply`. */
  | 'reply'
  /** The input was not SMTP, or came unexpectedly. */
  | 'protocol'
  /** TLS is required and not available: not offered, handshake failed, certificate not acceptable. */
  | 'tls'
  /** Plaintext followed the STARTTLS reply (RFC 3207 §6). */
  | 'injection'
  /** AUTH is required and not possible: no common mechanism, or the connection is not secure enough for a password. */
  | 'auth'
  | 'aborted';

export interface OpenFailure {
  kind: 'failed';
  stage: OpenStage;
  reply: Reply | null;
  reason: OpenFailureReason;
  detail: string;
  /** false: the server offers no login that this client can use. Absent: another failure. */
  loginOffered?: false;
  /** What requires the TLS that failed, in words; absent: nothing, or unknown. */
  asked?: string;
  /** What is known of a TLS connection that was established but not accepted. */
  tls: TlsFacts | null;
  conversation: ConversationLog;
}

export type OpenResult = { kind: 'open'; session: Session } | OpenFailure;

/** Which notices to request for a message (RFC 3461 §4). */
export interface DsnParameters {
  /** `['NEVER']`, or some of the others. Default FAILURE and DELAY. */
  notify?: readonly DsnNotify[] | undefined;
  /** How much of the message is returned. Default HDRS. */
  ret?: 'FULL' | 'HDRS' | undefined;
  /** Unencoded, printable ASCII. */
  envid?: string | undefined;
  /** As given by the original sender, `rfc822;…` in xtext; absent = made from each recipient. */
  orcpt?: string | undefined;
}

type DsnNotify = 'NEVER' | 'SUCCESS' | 'FAILURE' | 'DELAY';

export interface Transaction {
  /** Return path; '' for the null sender. */
  mailFrom: string;
  /** At least one. */
  recipients: readonly string[];
  /** The message before dot-stuffing, with CRLF line ends: header first, then body, in chunks of any size. */
  data: readonly Uint8Array[];
  /** Octets of `data`. */
  size: number;
  /** An address or header needs RFC 6531. */
  smtpUtf8: boolean;
  /** The content holds octets over 127. */
  eightBit: boolean;
  /** RFC 3461: sent only if the server offers it. */
  dsn?: DsnParameters | undefined;
  /** Called when the system has taken the message and its final dot, before any reply to it. */
  onDataSent?: (() => void) | undefined;
  /** Asked before its envelope is sent behind another message. false: it is returned, and nothing of it is sent. */
  mayGo?: (() => boolean) | undefined;
  /**
   * Called once when nothing is ahead of it on the connection any more. false: it is returned, and nothing is
   * delivered.
   */
  begins?: (() => boolean) | undefined;
}

/** Watches for a transaction that takes longer than usual for this server. */
export interface SessionWatch {
  /** How long a transaction may take, in milliseconds; asked when it begins. */
  patienceMs(): number;
  /** The current transaction has taken longer. The one behind it was returned, as lost with reason `local`. */
  slow(): void;
  /**
   * Messages cannot be in flight to this server: its replies do not match the commands or cannot be told apart, or it
   * refuses the BDAT that it offers.
   */
  outOfStep?(why: string): void;
  /**
   * Whether the server is known to discard the octets of a refused BDAT (RFC 3030 §2); if not, it has to show it before
   * the first message by `sendWhole`. Absent: it is trusted.
   */
  discardsRefused?(): boolean;
  /** It has shown it. */
  showedDiscard?(): void;
}

export interface RecipientResult {
  reply: Reply;
  /** The command that the reply answers. */
  stage: 'mail' | 'rcpt' | 'data' | 'dot';
  /** True only for a 2xx to the final dot. */
  accepted: boolean;
}

/** Where a transaction is: the command whose reply it waits for, or its content. */
export type TransactionStage = 'mail' | 'rcpt' | 'data' | 'body' | 'dot';

export type LostReason = 'closed' | 'reset' | 'timeout' | 'protocol' | '421' | 'local';

export type TransactionResult =
  | {
      kind: 'done';
      /** In the order of the transaction's recipients. */
      recipients: readonly RecipientResult[];
      /** Reply to the final dot, or null if it was not reached. */
      dot: Reply | null;
      /** From the first octet of the envelope to the last reply. */
      latencyMs: number;
      tls: TlsFacts | null;
      conversation: ConversationLog;
    }
  | {
      /** The connection ended before every recipient was decided. */
      kind: 'lost';
      stage: TransactionStage;
      /** true: the server may have accepted the message; the outcome is unknown. */
      afterDot: boolean;
      /** The connection had carried another transaction before. */
      reused: boolean;
      /** Nothing was sent yet, or another transaction was still ahead: this says nothing about the message. */
      untried: boolean;
      /** The envelope was sent behind another message. */
      pipelined: boolean;
      reason: LostReason;
      detail: string;
      /** The 421, or the reply that broke the protocol. */
      reply: Reply | null;
      /** Final refusals before the end; null for an undecided recipient. */
      recipients: readonly (RecipientResult | null)[];
      latencyMs: number;
      tls: TlsFacts | null;
      conversation: ConversationLog;
    }
  | {
      /** Nothing was sent; the session can be used further. */
      kind: 'not-sendable';
      why: 'too-large' | 'smtputf8-unsupported' | 'eight-bit-unsupported' | 'unsafe-command';
      /** The server's limit in octets, for `too-large`. */
      limit?: number;
    };

export interface SessionClose {
  reason: LostReason;
  detail: string;
  reply: Reply | null;
}

export interface Session {
  readonly peer: Target;
  readonly capabilities: Capabilities;
  readonly tls: TlsFacts | null;
  /** Why it uses no TLS although TLS was tried, or null. */
  readonly inClear: string | null;
  /** The commands and replies while opening. */
  readonly conversation: ConversationLog;
  /** The fastest reply to a command while opening, in milliseconds: at least the round trip. */
  readonly roundTripMs: number;
  state(): 'idle' | 'busy' | 'closed';
  /** Transactions that ended in a 2xx to the final dot. */
  delivered(): number;
  /** Transactions that ended, with any result. */
  transactions(): number;
  /** Octets written that the system has not taken yet. */
  unsent(): number;
  /** Whether another `transact()` may be called now (at most two at once). */
  hasRoom(): boolean;
  /** Sends one message. Never rejects because of a server; throws if two transactions are running already. */
  transact(tx: Transaction): Promise<TransactionResult>;
  /** Where the transaction is that has nothing ahead of it, and since when (monotonic) it runs; null: none, or several. */
  progress(): { stage: TransactionStage; sinceMs: number } | null;
  /** Messages sent by `sendWhole` that are not answered. */
  inFlight(): number;
  /**
   * Whether `sendWhole()` may be called now, so that at most `most` messages are unanswered. More than one only after
   * the first was accepted, and never beside a transaction of `transact`.
   */
  maySendWhole(most: number): boolean;
  /**
   * Sends one message in one write, with BDAT (RFC 3030), behind those that are not answered yet. For servers with
   * CHUNKING and PIPELINING. Never rejects because of a server; throws where nothing may be sent whole.
   */
  sendWhole(tx: Transaction): Promise<TransactionResult>;
  watch(watcher: SessionWatch): void;
  /**
   * Accepts nothing new, sends QUIT when no transaction is running, and destroys the socket at the latest 2 s later.
   */
  quit(): void;
  /** Ends the connection now; running transactions are returned as lost with reason `local`. */
  destroy(): void;
  /** Called once when the connection has ended; at once if it already has. */
  onClosed(fn: (close: SessionClose) => void): void;
}
