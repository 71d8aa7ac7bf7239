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
  /** The STARTTLS reply, and again the handshake. */
  startTlsMs: number;
  authMs: number;
  mailMs: number;
  /** The same where the envelope travelled behind another message; longer where this server is known to be slow. */
  pipelinedMailMs: number;
  rcptMs: number;
  dataMs: number;
  /** Until the system took the next slice (≤ 64 KiB) of the body. */
  bodyMs: number;
  /** Until the reply to the final dot: a shorter one makes duplicates. */
  dotMs: number;
  rsetMs: number;
  /** How long a socket may linger after QUIT. */
  quitMs: number;
}

export const DEFAULT_TIMEOUTS: Timeouts = {
  connectMs: 15_000,
  bannerMs: 60_000,
  ehloMs: 60_000,
  startTlsMs: 30_000,
  authMs: 30_000,
  mailMs: 300_000,
  pipelinedMailMs: 15_000,
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
  /** IP literal that is connected to. */
  address: string;
  port: number;
  /** TLS from the first byte (port 465). */
  implicitTls: boolean;
}

export interface OpenOptions {
  clock: Clock;
  /** Our name in EHLO; `[192.0.2.1]` where there is none. */
  heloName: string;
  tls: TlsMode;
  /** For the mode `dane`. */
  dane?: DaneRequest | undefined;
  /** What a verified certificate is reported as having met; `pkix` unless said. */
  verifiedAs?: 'mta-sts' | undefined;
  auth?: { user: string; pass: string } | undefined;
  /** AUTH without verified TLS: only for a peer on loopback. */
  allowPlaintextAuth?: boolean | undefined;
  timeouts?: Partial<Timeouts> | undefined;
  /** Source address to bind, an IP literal. */
  localAddress?: string | undefined;
  /** Where connections come from; TCP where left out. */
  connect?: Connect | undefined;
  /** Ends the opening (not an open session) early. */
  signal?: AbortSignal | undefined;
  /** Shared by all sessions; made once, because a TLS context costs milliseconds. Without it each session makes one. */
  tlsContexts?: TlsContexts | undefined;
  /** Offer few key-exchange groups, for servers that choke on a ClientHello over one segment. */
  smallClientHello?: boolean | undefined;
  /** Why this session goes in the clear although TLS was wanted; said in the conversation and by the session. */
  inClear?: string | undefined;
}

export type OpenStage = 'connect' | 'banner' | 'ehlo' | 'starttls' | 'tls' | 'auth';

export type OpenFailureReason =
  | 'refused'
  | 'timeout'
  | 'unreachable'
  /** The server closed or reset the connection. */
  | 'reset'
  /** The server said no; see `reply`. */
  | 'reply'
  /** What came was not SMTP, or came unasked. */
  | 'protocol'
  /** TLS is wanted and not to be had: not offered, handshake failed, certificate not acceptable. */
  | 'tls'
  /** Plaintext followed the STARTTLS reply (RFC 3207 §6). */
  | 'injection'
  /** AUTH is wanted and not possible: no common mechanism, or the connection is not safe enough for a password. */
  | 'auth'
  | 'aborted';

export interface OpenFailure {
  kind: 'failed';
  stage: OpenStage;
  reply: Reply | null;
  reason: OpenFailureReason;
  detail: string;
  /** Who asks for the TLS that failed, in words; absent: nobody, or not told. */
  asked?: string;
  /** What is known of a TLS connection that was set up but not accepted. */
  tls: TlsFacts | null;
  conversation: ConversationLog;
}

export type OpenResult = { kind: 'open'; session: Session } | OpenFailure;

/** What to ask of notices about a message (RFC 3461 §4). */
export interface DsnParameters {
  /** `['NEVER']`, or some of the others. Default FAILURE and DELAY. */
  notify?: readonly DsnNotify[] | undefined;
  /** How much of the message comes back. Default HDRS. */
  ret?: 'FULL' | 'HDRS' | undefined;
  /** Unencoded, printable ASCII. */
  envid?: string | undefined;
  /** As somebody else gave it, `rfc822;…` in xtext; made from each recipient where absent. */
  orcpt?: string | undefined;
}

export type DsnNotify = 'NEVER' | 'SUCCESS' | 'FAILURE' | 'DELAY';

export interface Transaction {
  /** Return path; '' for the null sender. */
  mailFrom: string;
  /** At least one. */
  recipients: readonly string[];
  /** The message, unstuffed, lines ending in CRLF: header block first, then body, cut anywhere. */
  data: readonly Uint8Array[];
  /** Octets of `data`. */
  size: number;
  /** An address or header needs RFC 6531. */
  smtpUtf8: boolean;
  /** The content holds octets over 127. */
  eightBit: boolean;
  /** RFC 3461: said only where the server offers it. */
  dsn?: DsnParameters | undefined;
  /** Called when the system has taken the message and its final dot, before any reply to it. */
  onDataSent?: (() => void) | undefined;
  /** Asked before its envelope travels behind another message. False: it comes back, and nothing of it is sent. */
  mayGo?: (() => boolean) | undefined;
  /** Called once when nothing is ahead of it on the connection any more. False: it comes back, and nothing is delivered. */
  begins?: (() => boolean) | undefined;
}

/** Who is told that a transaction takes longer than this server usually does. */
export interface SessionWatch {
  /** How long one may take, in milliseconds: asked when it begins. */
  patienceMs(): number;
  /** The one in hand has taken longer. What waited behind it has come back, as lost with reason `local`. */
  slow(): void;
}

export interface RecipientResult {
  reply: Reply;
  /** Which command the reply answered. */
  stage: 'mail' | 'rcpt' | 'data' | 'dot';
  /** True only for a 2xx to the final dot. */
  accepted: boolean;
}

export type LostReason = 'closed' | 'reset' | 'timeout' | 'protocol' | '421' | 'local';

export type TransactionResult =
  | {
      kind: 'done';
      /** In the order of the transaction's recipients. */
      recipients: readonly RecipientResult[];
      /** Reply to the final dot, or null when it never came to that. */
      dot: Reply | null;
      /** From the first octet of the envelope to the last reply. */
      latencyMs: number;
      tls: TlsFacts | null;
      conversation: ConversationLog;
    }
  | {
      /** The connection ended before every recipient was decided. */
      kind: 'lost';
      stage: 'mail' | 'rcpt' | 'data' | 'body' | 'dot';
      /** True: the server may have the message. The outcome is unknown. */
      afterDot: boolean;
      /** The server had been through another transaction on this connection. */
      reused: boolean;
      /** Nothing was sent yet, or another transaction was still ahead: says nothing about this message. */
      untried: boolean;
      /** The envelope travelled behind another message. */
      pipelined: boolean;
      reason: LostReason;
      detail: string;
      /** The 421, or the reply that broke the protocol. */
      reply: Reply | null;
      /** Refusals that were final before the end; null for an undecided recipient. */
      recipients: readonly (RecipientResult | null)[];
      latencyMs: number;
      tls: TlsFacts | null;
      conversation: ConversationLog;
    }
  | {
      /** Nothing was sent; the session goes on. */
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
  /** Why it goes in the clear although TLS was tried, or null. */
  readonly inClear: string | null;
  /** What was said while opening. */
  readonly conversation: ConversationLog;
  state(): 'idle' | 'busy' | 'closed';
  /** Transactions that ended in a 2xx to the final dot. */
  delivered(): number;
  /** Transactions that came to their end, whatever that was. */
  transactions(): number;
  /** Whether another `transact()` may be called now (at most two at once). */
  hasRoom(): boolean;
  /** Sends one message. Never rejects for what a server does; throws when there was no room. */
  transact(tx: Transaction): Promise<TransactionResult>;
  watch(watcher: SessionWatch): void;
  /** Takes nothing new, sends QUIT once nothing is in flight, and destroys the socket at the latest 2 s later. */
  quit(): void;
  /** Ends the connection now; what is in flight comes back as lost with reason `local`. */
  destroy(): void;
  /** Called once when the connection is gone; at once when it already is. */
  onClosed(fn: (close: SessionClose) => void): void;
}
