/** Why a delivery did not succeed: the vocabulary shared by outcomes, events, webhooks and the message view. */

export type BounceType = 'Permanent' | 'Transient' | 'Undetermined';
export type BounceScope = 'recipient' | 'message' | 'domain' | 'sender_domain' | 'batch' | 'path';
export type BouncePhase = 'Session' | 'Async';

/** The `Bounce` object of events and webhooks: what the far end said about a recipient. */
export interface Bounce {
  Type: BounceType;
  /** The engine's category in PascalCase, e.g. RecipientInvalid. */
  Class: string;
  Scope: BounceScope;
  Phase: BouncePhase;
  /** 0 where no SMTP reply was received. */
  SmtpCode: number;
  /** RFC 3463, '' where none was given. */
  EnhancedCode: string;
  /** At most 512 characters. */
  Diagnostic: string;
  RemoteMta: string;
}
