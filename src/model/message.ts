/** Plain types of a message and its recipients, used by the pipeline, the store and the listeners. */

/** UUIDv7 in canonical lower-case text; what clients see as `MessageID`. */
export type MessageId = string & { readonly __brand: 'MessageId' };

/** Priority: how soon a delivery is tried again, for how long, and which mail goes first. */
export type Lane = (typeof LANES)[number];
export const LANES = ['critical', 'normal', 'bulk'] as const;

export type RecipientKind = 'To' | 'CC' | 'BCC';

/** A display name and an address. `name` is '' if none was given; `address` is already normalised. */
export interface Mailbox {
  name: string;
  address: string;
}

/**
 * The address lists as the sender gave them. `bcc` never appears in a composed message, a webhook or to another
 * recipient.
 */
export interface AddressLists {
  from: Mailbox;
  to: Mailbox[];
  cc: Mailbox[];
  bcc: Mailbox[];
  replyTo: Mailbox[];
}

/** The results of the sandbox that a request can name. */
export const REQUESTED_RESULTS = [
  'deliver',
  'bounce',
  'softbounce',
  'defer',
  'fail',
  'suppress',
  'complain',
  'open',
  'click',
] as const;
export type RequestedResult = (typeof REQUESTED_RESULTS)[number];

/**
 * The result that the sandbox simulates, requested by `Sandbox` in the request or by a recipient at the simulator
 * domain.
 */
export type SandboxResult = RequestedResult | 'unsubscribe' | 'ooto';
