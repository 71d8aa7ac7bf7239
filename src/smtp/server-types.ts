/**
 * The types between the SMTP server session and its two listeners: what the session asks (a login, a sender, a
 * recipient, a message), what it is answered, what it needs of its connection, and its limits with their defaults.
 */
import type { ByteShare } from '../lib/byte-budget.ts';
import type { Address } from '../mail/address.ts';

/** One reply. Several items of `text` become several lines; each is cleaned and cut before it is sent. */
export interface ServerReply {
  /** 200–599. */
  readonly code: number;
  /** RFC 3463, e.g. `2.1.0`; always present. */
  readonly enhanced: string;
  readonly text: string | readonly string[];
  /** Close the connection after this reply. */
  readonly close?: boolean;
  /** Name of the refusal, for logs; never sent. */
  readonly name?: string;
}

/** What a line, or more of a message, is answered; null: nothing yet. */
export type ServerAnswer = ServerReply | Promise<ServerReply> | null;

/** MAIL: the sender and its parameters. */
export interface MailFrom {
  /** null: the null sender `<>` (RFC 5321 §4.5.5). */
  readonly address: Address | null;
  /** SIZE, octets (RFC 1870). */
  readonly size: number | null;
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
  /** RFC 3461 §4.1; empty = not given. `NEVER` only alone. */
  readonly notify: readonly ('NEVER' | 'SUCCESS' | 'FAILURE' | 'DELAY')[];
  /** RFC 3461 §4.2: `rfc822;a@example.com`, decoded from xtext. */
  readonly orcpt: string | null;
}

export interface ServerEnvelope {
  readonly from: MailFrom;
  /** The accepted recipients, in order. */
  readonly recipients: readonly RcptTo[];
}

/** A message after dot-stuffing was undone: CRLF line ends only, ending with one (unless empty). */
export interface ReceivedMessage {
  /** Owned by the handler. */
  readonly bytes: Uint8Array;
  /** Some octet is above 127. */
  readonly eightBit: boolean;
}

/** What is known of the peer so far. */
export interface SessionFacts {
  /** The name given with EHLO or HELO, '' before. Not checked. */
  readonly helo: string;
  readonly esmtp: boolean;
  /** By TLS. */
  readonly secured: boolean;
  readonly authenticated: boolean;
}

export interface AuthAttempt {
  readonly username: string;
  readonly password: string;
}

/** The listener's answers. null means the usual positive reply. A rejection is answered as `onFailure` says. */
export interface ServerHandler {
  /** 235 or null logs the peer in; anything else refuses. */
  onAuth(attempt: AuthAttempt, facts: SessionFacts): Promise<ServerReply | null>;
  onMail(from: MailFrom, facts: SessionFacts): Promise<ServerReply | null>;
  onRcpt(to: RcptTo, envelope: ServerEnvelope, facts: SessionFacts): Promise<ServerReply | null>;
  /** The positive reply takes responsibility for the message: it is given only after it is stored safely. */
  onMessage(envelope: ServerEnvelope, message: ReceivedMessage, facts: SessionFacts): Promise<ServerReply>;
  /** Whose mail it is, as far as it is known: they share memory and connections with others. null: the peer's address is all. */
  owner?(): readonly string[] | null;
  /** One of the above rejected: the reply to it; null = it was reported, and the peer gets 451. */
  onFailure(error: unknown): ServerReply | null;
  /**
   * A command of a transaction or a login was refused, by the answers above or by the protocol; `from`: the sender of
   * its MAIL. `connection`: the peer began with TLS where it may not, without it where it must, or with HTTP.
   */
  onRefused?(command: AnsweredCommand['command'], reply: ServerReply, from: MailFrom | null): void;
}

/** What a reply answers, where its refusal is reported. */
export interface AnsweredCommand {
  readonly command: 'AUTH' | 'MAIL' | 'RCPT' | 'DATA' | 'connection';
  readonly from: MailFrom | null;
}

/** What the session needs of its connection. */
export interface ServerConnection {
  /** Whole replies, ready to be written. */
  write(text: string): void;
  /** Stop reading (true), or continue (false). */
  pause(wait: boolean): void;
  /** Send what was written, then close. Nothing is pushed afterwards. */
  close(): void;
  /** Begin the handshake; `secured` is called when it is complete. Nothing is pushed in between. */
  startTls(): void;
}

export interface ServerSessionOptions {
  /** Our name in the greeting and the reply to EHLO. */
  hostname: string;
  /** Offer STARTTLS while the connection is without TLS. */
  startTls: boolean;
  /** The connection began with TLS. */
  secured: boolean;
  /** null: no AUTH. `required`: MAIL needs it. `plainText`: also without TLS. */
  auth: { required: boolean; plainText: boolean } | null;
  /** NOTIFY, ORCPT, RET and ENVID are offered and accepted. */
  dsn: boolean;
  /** The minimum of labels of domains in the envelope: 2, or 1 if mail does not leave this machine. */
  minLabels: number;
  /** Opens a share of the memory for arriving messages; absent: each has only its own limit. */
  memory?: () => ByteShare;
  limits: ServerLimits;
}

export const SERVER_LIMITS = {
  /** Octets of one message, after dot-stuffing was undone. */
  maxMessageBytes: 26_214_400,
  /** Further recipients are answered 452, so that the peer sends them in another transaction. */
  maxRecipients: 100,
  /** Longest line of a message without its CRLF (RFC 5322 §2.1.1). */
  maxLineBytes: 998,
  /** Refused commands before the connection is closed. */
  maxErrors: 20,
  /** Commands without effect (NOOP, RSET, VRFY, HELP, EHLO) between two messages. */
  maxIdleCommands: 100,
  maxAuthFailures: 3,
  /** The wait for the next command (RFC 5321 §4.5.3.2.7: at least 5 minutes). */
  commandMs: 300_000,
  /** From the first octet of a line to its end. */
  lineMs: 60_000,
  /** From the greeting to a successful login, if one is required. */
  loginMs: 180_000,
  /** The longest pause while a message arrives. */
  dataIdleMs: 180_000,
  /** A message may take `dataGraceMs` plus one second for each `minBytesPerSecond`. */
  dataGraceMs: 300_000,
  minBytesPerSecond: 512,
};

export type ServerLimits = typeof SERVER_LIMITS;
