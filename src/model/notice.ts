/** What the sender of a message asks to be told by mail (RFC 3461): kept with SMTP mail, absent from all other. */

/** What happened to a recipient, as far as somebody may want to hear of it. */
export type NoticeKind = 'success' | 'failure' | 'delay';

/** Where the notices of a message go, and what its sender gave with it. */
export interface NoticeWish {
  /** The envelope's sender, never null. */
  sender: string;
  /** How much of the message comes back; null = not said. */
  ret: 'FULL' | 'HDRS' | null;
  /** The sender's own name for the transaction, decoded; null = none. */
  envid: string | null;
}
