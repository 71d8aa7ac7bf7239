/**
 * A message as a listener hands it to acceptance: every field checked and normalised, whoever sent it. Parse at the
 * door, then trust.
 */
import type { Lane, Mailbox, RecipientKind, SandboxResult } from './message.ts';
import type { NoticeKind, NoticeWish } from './notice.ts';
import type { PersonalWish } from './personal.ts';
import type { Bounds } from './token.ts';

export interface SubmittedRecipient {
  /** Display name, '' = none. */
  name: string;
  /** `local@domain`, domain as lower-case A-label. */
  address: string;
  /** Lower-case A-label. */
  domain: string;
  kind: RecipientKind;
  /** What the sender wants to be told of it by mail; absent = nothing. */
  notify?: readonly NoticeKind[];
  /** `type;address` as the sender gave it (RFC 3461 §4.2), decoded. */
  orcpt?: string;
}

export interface SubmittedAttachment {
  content: Uint8Array;
  /** `type/subtype` with parameters. */
  type: string;
  filename: string;
  disposition: 'attachment' | 'inline';
  contentId: string | null;
}

export type SubmittedBody =
  /** `text`: the alternative; null = none wanted; undefined = make it from the HTML. */
  { kind: 'html'; html: string; text: string | null | undefined } | { kind: 'text'; text: string };

export interface Submission {
  from: Mailbox;
  /** Lower-case A-label of From. */
  fromDomain: string;
  /** Distinct over all lists, first of To > CC > BCC; in that order. */
  recipients: readonly SubmittedRecipient[];
  replyTo: readonly Mailbox[];
  subject: string;
  body: SubmittedBody;
  tags: readonly string[];
  /** Custom headers in the order given, checked by grammar and deny list. */
  headers: readonly (readonly [name: string, value: string])[];
  attachments: readonly SubmittedAttachment[];
  metadata: Readonly<Record<string, string>>;
  /** When it is to go; null = at once. */
  sendAt: number | null;
  /** When to give up; null = by the lane's age, counted from when it goes. */
  expiresAt: number | null;
  lane: Lane;
  /** Not null: the whole message stays in the sandbox with this result. */
  sandbox: SandboxResult | null;
  /** false: the content goes when the last recipient is final. Left out: as the sender domain is set. */
  keepContent?: boolean;
  /** Tracking and unsubscribe links asked for; null or absent = as the domain says. */
  personal?: PersonalWish | null;
}

/** A message that came with its own bytes: what acceptance must know beside them, checked and normalised. */
export interface RawSubmission
  extends Omit<Submission, 'recipients' | 'body' | 'headers' | 'attachments' | 'subject'> {
  /** Lower-case A-label of the envelope's sender; null for the null sender `<>`. */
  envelopeDomain: string | null;
  /** What else the header says it is from: domains of Sender and its like, and of addresses in names. Left out: none. */
  claimedDomains?: readonly string[];
  /** Where notices go; null = there are none. */
  notice: NoticeWish | null;
  /** Distinct; the envelope's, whatever the header says. */
  recipients: readonly SubmittedRecipient[];
  /** Decoded, for showing; may be ''. */
  subject: string;
}

/** Who calls, as far as acceptance and the operations need to know. */
export interface Caller {
  tokenId: string;
  /** What its maker called the token or credential, for people to read. */
  name?: string;
  /** Scope of idempotency keys. */
  owner: string;
  /** Sender domains, or ['*']. */
  domains: readonly string[];
  scopes: ReadonlySet<string>;
  /** Everything this caller sends stays in the sandbox. */
  sandbox: boolean;
  /** Sends per second, null = no own limit. */
  rateLimit: number | null;
  /** What it makes has these limits too; left out: none. */
  bounds?: Bounds;
  /** false: whoever sends by SMTP gets no notices by mail. Left out: true. */
  notices?: boolean;
}
