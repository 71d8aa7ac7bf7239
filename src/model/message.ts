/** Plain types of a message and its recipients: what the pipeline, the store and the listeners all mean by them. */

/** UUIDv7 in canonical lower-case text; what clients see as `MessageID`. */
export type MessageId = string & { readonly __brand: 'MessageId' };

/** Urgency: how soon a delivery is tried again, how long it is tried, and who waits for whom. */
export type Lane = 'critical' | 'normal' | 'bulk';
export const LANES: readonly Lane[] = ['critical', 'normal', 'bulk'];

export type RecipientKind = 'To' | 'CC' | 'BCC';

/** A display name and an address. `name` is '' where none was given; `address` is already normalised. */
export interface Mailbox {
  name: string;
  address: string;
}

/** The address lists as the sender gave them. `bcc` never reaches a composed byte, a webhook or another recipient. */
export interface AddressLists {
  from: Mailbox;
  to: Mailbox[];
  cc: Mailbox[];
  bcc: Mailbox[];
  replyTo: Mailbox[];
}

/** The result that the sandbox simulates, asked for by `Sandbox` in the request or by a recipient at the simulator domain. */
export type SandboxResult =
  | 'deliver'
  | 'bounce'
  | 'softbounce'
  | 'defer'
  | 'fail'
  | 'suppress'
  | 'complain'
  | 'open'
  | 'click'
  | 'unsubscribe'
  | 'ooto';
