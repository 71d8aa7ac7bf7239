/** Which notices the sender of a message requested (RFC 3461); stored for SMTP mail only. */

/** What happened to a recipient, as far as a notice can report it. */
export type NoticeKind = 'success' | 'failure' | 'delay';

/** Where the notices of a message go, and the parameters that its sender gave. */
export interface NoticeWish {
  /** The envelope's sender, never null. */
  sender: string;
  /** How much of the message is returned; null = not specified. */
  ret: 'FULL' | 'HDRS' | null;
  /** The sender's own name for the transaction, decoded; null = none. */
  envid: string | null;
}
