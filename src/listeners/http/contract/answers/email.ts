/** What the operations on messages answer: sending, looking at, canceling, trying again. Types only. */
import type { RecipientKind } from '../../../../model/message.ts';
import type { ListWord, MessageStatus, RecipientStatus } from '../../../../model/status.ts';
import type { NamedAddress } from './captures.ts';
import type { ProblemItem } from './problem.ts';

/** POST /email. Frozen. */
export interface EmailAnswer {
  MessageID: string;
}

/** One item of GET /email. */
export interface MessageSummary {
  MessageID: string;
  Domain: string;
  Status: MessageStatus;
  /** How many recipients there are of each word of lists; a word that none has is left out. */
  RecipientStatuses: Readonly<Partial<Record<ListWord, number>>>;
  From: NamedAddress;
  To: readonly NamedAddress[];
  CC: readonly NamedAddress[];
  BCC: readonly NamedAddress[];
  ReplyTo: readonly NamedAddress[];
  Subject: string;
  Tags: readonly string[];
  Metadata: Readonly<Record<string, string>>;
  Priority: 'critical' | 'normal' | 'bulk';
  Sandbox: boolean;
  Size: number;
  CreatedAt: string;
  /** When it was asked to go, null = at once. */
  SendAt: string | null;
  ExpiresAt: string;
}

/** GET /email/{MessageID}; answer of PATCH. */
export interface MessageDetail extends MessageSummary {
  Recipients: readonly MessageRecipient[];
}

/** A file that a message carries, without its contents. */
export interface AttachmentFacts {
  Filename: string;
  Type: string;
  Disposition: string;
  ContentId: string;
  Size: number;
}

/** GET /email/{MessageID}: with what it says, as long as that is kept; null from then on. */
export interface MessageWithContents extends MessageDetail {
  HTMLContent: string | null;
  PlainContent: string | null;
  Attachments: readonly AttachmentFacts[] | null;
}

/** What would be taken but is likely not meant. */
export interface EmailWarning {
  Name: string;
  Message: string;
  /** A JSON Pointer, where one field is meant. */
  Field?: string;
}

/** POST /email/validate. */
export interface ValidateAnswer {
  Valid: true;
  /** Octets of the composed message. */
  Size: number;
  Recipients: number;
  Warnings: readonly EmailWarning[];
}

/** POST /email/batch: one result a message, in order. */
export interface BatchAnswer {
  Results: readonly ({ MessageID: string } | { Errors: readonly ProblemItem[] })[];
  Accepted: number;
  Rejected: number;
}

/** POST /email/{MessageID}/cancel: `TooLate` are being sent or were delivered. */
export interface CancelAnswer {
  Canceled: number;
  TooLate: number;
}

/** POST /email/{MessageID}/retry. */
export interface RetryAnswer {
  Queued: number;
  /** Paths that were closed and are tried now, because an administrator asked. */
  Opened: number;
  /** Paths of its recipients that take no mail at the moment. */
  Closed: readonly ClosedPathItem[];
}

/** A path that takes no mail. */
export interface ClosedPathItem {
  Site: string;
  Reason: string;
  /** null: nobody knows. */
  Until: string | null;
}

/** What became of one recipient so far. */
export interface MessageRecipient {
  Email: string;
  Type: RecipientKind;
  Status: RecipientStatus;
  Attempts: number;
  LastSmtpCode: number;
  LastResponse: string;
  /** The engine's category in PascalCase, '' = none. */
  Class: string;
  /** Why it waits, '' = it does not. */
  WaitReason: string;
  NextAttemptAt: string | null;
  ExpiresAt: string;
  Route: 'mx' | 'relay' | 'sandbox' | null;
  UpdatedAt: string;
}
