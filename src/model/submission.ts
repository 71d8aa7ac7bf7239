/**
 * A message as a listener passes it to acceptance: every field is checked and normalised, whatever it came from. Later
 * code trusts it.
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
  /** Which notices the sender requested for it; absent = none. */
  notify?: readonly NoticeKind[];
  /** `type;address` as the sender gave it (RFC 3461 §4.2), decoded. */
  orcpt?: string;
}

export interface SubmittedAttachment {
  content: Uint8Array;
  /** `type/subtype` with parameters; '' = by the file name. */
  type: string;
  filename: string;
  disposition: 'attachment' | 'inline';
  /** Without angle brackets. */
  contentId: string | null;
}

export type SubmittedBody =
  /** `text`: the plain text part; null = none; undefined = make it from the HTML. */
  | { kind: 'html'; html: string; text: string | null | undefined }
  | { kind: 'text'; text: string }
  /** Only the text that is made from the HTML. */
  | { kind: 'text-of-html'; html: string };

/** What the store keeps of a submission as it is. A new part has its form below. */
export interface KeptFields {
  lane: Lane;
  subject: string;
  tags: readonly string[];
  metadata: Readonly<Record<string, string>>;
  /** When to send it; null = at once. */
  sendAt: number | null;
}

/** How each kept field is stored; `store/shared/rows/messages.ts` says what a form is in a database. */
export const KEPT_FIELDS = {
  lane: 'lane',
  subject: 'text',
  tags: 'texts',
  metadata: 'record',
  sendAt: 'instant',
} as const satisfies { [Member in keyof KeptFields]-?: FormOf<KeptFields[Member]> };

type FormOf<Value> = [Value] extends [Lane]
  ? 'lane'
  : [Value] extends [string | null]
    ? 'text'
    : [Value] extends [readonly string[]]
      ? 'texts'
      : [Value] extends [number | null]
        ? 'instant'
        : [Value] extends [boolean]
          ? 'flag'
          : [Value] extends [Readonly<Record<string, string>>]
            ? 'record'
            : never;

/** The kept fields alone. */
export function keptFields({ lane, subject, tags, metadata, sendAt }: KeptFields): KeptFields {
  return { lane, subject, tags, metadata, sendAt };
}

export interface Submission extends KeptFields {
  from: Mailbox;
  /** Lower-case A-label of From. */
  fromDomain: string;
  /** Each recipient once, from the first of To > CC > BCC that contains it; in that order. */
  recipients: readonly SubmittedRecipient[];
  replyTo: readonly Mailbox[];
  body: SubmittedBody;
  /** Custom headers in the given order, checked against the grammar and the list of reserved names. */
  headers: readonly (readonly [name: string, value: string])[];
  attachments: readonly SubmittedAttachment[];
  /** When to give up; null = the lane's maximum age, counted from when it is sent. */
  expiresAt: number | null;
  /** Not null: the whole message stays in the sandbox with this result. */
  sandbox: SandboxResult | null;
  /** false: the content is deleted when the last recipient is final. Absent: the sender domain's setting. */
  keepContent?: boolean;
  /** Requested tracking and unsubscribe links; null or absent = the domain's settings. */
  personal?: PersonalWish | null;
}

/** Everything beside addresses, subject and body where a request does not name it. */
export const SUBMISSION_DEFAULTS = {
  replyTo: [],
  tags: [],
  headers: [],
  attachments: [],
  metadata: {},
  sendAt: null,
  expiresAt: null,
  lane: 'normal',
  sandbox: null,
} as const satisfies Partial<Submission>;

/** A message that was submitted as bytes: what acceptance needs to know about them, checked and normalised. */
export interface RawSubmission
  extends Omit<Submission, 'recipients' | 'body' | 'headers' | 'attachments' | 'subject'> {
  /** Lower-case A-label of the envelope's sender; null for the null sender `<>`. */
  envelopeDomain: string | null;
  /**
   * Other domains the header claims as sender: of Sender and similar fields, and of addresses in display names. Absent:
   * none.
   */
  claimedDomains?: readonly string[];
  /** Where notices go; null = none. */
  notice: NoticeWish | null;
  /** Each once; from the envelope, whatever the header says. */
  recipients: readonly SubmittedRecipient[];
  /** Decoded, for display; may be ''. */
  subject: string;
}

/** The caller, as far as acceptance and the operations need to know it. */
export interface Caller {
  tokenId: string;
  /** The display name of the token or credential. */
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
  /** Limits that what it creates inherits; absent: none. */
  bounds?: Bounds;
  /** Ids of API operations that it may call without their scope; absent: none. */
  operations?: ReadonlySet<string>;
  /** Ids of the only API operations that it may call, whatever its scopes; absent: no such limit. */
  only?: ReadonlySet<string>;
  /** Id of the session of a person, whose id is `tokenId`; absent: a token or credential. */
  session?: string;
  /** When the person of the session last proved who they are. */
  provenAt?: number;
  /** false: mail submitted by SMTP gets no notices. Absent: true. */
  notices?: boolean;
}

/** A caller that may only send and has no limits of its own: the server itself, and SMTP clients without a login. `name` is its id, too. */
export function sendingCaller(name: string): Caller {
  return {
    tokenId: name,
    owner: name,
    domains: ['*'],
    scopes: new Set(['email:send']),
    sandbox: false,
    rateLimit: null,
  };
}
