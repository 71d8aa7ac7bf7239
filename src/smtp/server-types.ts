/**
 * The words between the server half of SMTP and whoever listens with it: what the session asks (may this one log in,
 * is this sender or recipient taken, here is a message), what it is answered, what it needs of its connection, and its
 * limits. Types, and the default limits; both SMTP listeners bring their own answers.
 */
import type { Address } from '../mail/address.ts';
import type { DataMemory } from './server-data.ts';

/** One reply. `text` becomes several lines where it has several items; each is cleaned and cut before it is sent. */
export interface ServerReply {
  /** 200–599. */
  readonly code: number;
  /** RFC 3463, e.g. `2.1.0`. Every reply has one. */
  readonly enhanced: string;
  readonly text: string | readonly string[];
  /** The connection is closed after this reply. */
  readonly close?: boolean;
  /** Name of the refusal, for logs; never sent. */
  readonly name?: string;
}

/** MAIL: sender and what it announced. */
export interface MailFrom {
  /** null: the null sender `<>` (RFC 5321 §4.5.5). */
  readonly address: Address | null;
  /** SIZE, octets (RFC 1870). */
  readonly size: number | null;
  /** BODY=8BITMIME (RFC 6152). */
  readonly eightBitMime: boolean;
  /** RFC 6531. */
  readonly smtpUtf8: boolean;
  /** RFC 3461 §4.3 and §4.4, decoded from xtext. */
  readonly ret: 'FULL' | 'HDRS' | null;
  readonly envid: string | null;
}

/** RCPT: one recipient. */
export interface RcptTo {
  /** null: `<postmaster>` without a domain (RFC 5321 §4.5.1). */
  readonly address: Address | null;
  /** RFC 3461 §4.1; empty = not given. `NEVER` stands alone. */
  readonly notify: readonly ('NEVER' | 'SUCCESS' | 'FAILURE' | 'DELAY')[];
  /** RFC 3461 §4.2: `rfc822;a@example.com`, decoded from xtext. */
  readonly orcpt: string | null;
}

export interface ServerEnvelope {
  readonly from: MailFrom;
  /** Those that were taken, in order. */
  readonly recipients: readonly RcptTo[];
}

/** A message as it was before dot-stuffing: CRLF line ends only, ending in one (unless empty). */
export interface ReceivedMessage {
  /** The handler's own. */
  readonly bytes: Uint8Array;
  /** Some octet is above 127. */
  readonly eightBit: boolean;
}

export interface TlsFacts {
  /** `TLSv1.3` */
  readonly protocol: string;
  readonly cipher: string;
}

/** What is known of the peer so far. */
export interface SessionFacts {
  /** Name given with EHLO or HELO, '' before. Never checked against anything. */
  readonly helo: string;
  readonly esmtp: boolean;
  readonly tls: TlsFacts | null;
  readonly authenticated: boolean;
  /** It sent something before it was greeted. */
  readonly earlyTalker: boolean;
}

export interface AuthAttempt {
  readonly mechanism: 'PLAIN' | 'LOGIN';
  readonly username: string;
  readonly password: string;
}

/** The listener's answers. A null stands for the usual positive reply. A rejection becomes 451 and is reported. */
export interface ServerHandler {
  /** 235 or null logs the peer in; anything else refuses. */
  onAuth(attempt: AuthAttempt, facts: SessionFacts): Promise<ServerReply | null>;
  onMail(from: MailFrom, facts: SessionFacts): Promise<ServerReply | null>;
  onRcpt(to: RcptTo, envelope: ServerEnvelope, facts: SessionFacts): Promise<ServerReply | null>;
  /** The positive reply takes responsibility: it is given only when the message is safe. */
  onMessage(envelope: ServerEnvelope, message: ReceivedMessage, facts: SessionFacts): Promise<ServerReply>;
  /** One of the above rejected: a bug, or something that is away. */
  onFailure(error: unknown): void;
  /** A command of a transaction or a login was refused, by the answers above or by the protocol itself; `from`: of its MAIL. */
  onRefused?(command: 'AUTH' | 'MAIL' | 'RCPT' | 'DATA', reply: ServerReply, from: MailFrom | null): void;
}

/** What the session needs of its connection. */
export interface ServerConnection {
  /** Whole replies, ready to be written. */
  write(text: string): void;
  /** No more bytes are wanted for now (true), or again (false). */
  hold(wait: boolean): void;
  /** What was written is sent, then the connection ends. Nothing is pushed afterwards. */
  close(): void;
  /** The handshake follows; `secured` is called when it is done. Nothing is pushed in between. */
  startTls(): void;
}

export interface ServerSessionOptions {
  /** Own name in the greeting and the answer to EHLO. */
  hostname: string;
  /** STARTTLS is offered (while the connection is plain). */
  startTls: boolean;
  /** The connection began with TLS. */
  tls: TlsFacts | null;
  /** null: no AUTH at all. `required`: MAIL needs it. `plainText`: also without TLS. */
  auth: { required: boolean; plainText: boolean } | null;
  /** NOTIFY, ORCPT, RET and ENVID are offered and taken. */
  dsn: boolean;
  /** Labels that domains in the envelope have at least: 2, or 1 where mail does not leave this machine. */
  minLabels: number;
  /** What messages that arrive may hold, shared with other sessions; left out: no limit but their own. */
  memory?: DataMemory;
  limits: ServerLimits;
}

export interface ServerLimits {
  /** Octets of one message, after dot-stuffing is undone. */
  maxMessageBytes: number;
  /** More are answered 452, for the peer to send them in a further transaction. */
  maxRecipients: number;
  /** Longest line of a message without its CRLF (RFC 5322 §2.1.1). */
  maxLineBytes: number;
  /** Refused commands before the connection is closed. */
  maxErrors: number;
  /** Commands that lead nowhere (NOOP, RSET, VRFY, HELP) between two messages. */
  maxIdleCommands: number;
  maxAuthFailures: number;
  /** Wait for the next command (RFC 5321 §4.5.3.2.7: at least 5 minutes). */
  commandMs: number;
  /** From the first octet of a line to its end. */
  lineMs: number;
  /** From the greeting to a successful login, where one is required. */
  loginMs: number;
  /** Silence while a message arrives. */
  dataIdleMs: number;
  /** A message may take `dataGraceMs` plus one second for each `minBytesPerSecond`. */
  dataGraceMs: number;
  minBytesPerSecond: number;
}

export const SERVER_LIMITS: ServerLimits = {
  maxMessageBytes: 26_214_400,
  maxRecipients: 100,
  maxLineBytes: 998,
  maxErrors: 20,
  maxIdleCommands: 100,
  maxAuthFailures: 3,
  commandMs: 300_000,
  lineMs: 60_000,
  loginMs: 180_000,
  dataIdleMs: 180_000,
  dataGraceMs: 300_000,
  minBytesPerSecond: 512,
};
