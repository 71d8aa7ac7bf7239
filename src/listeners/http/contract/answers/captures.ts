/** A captured copy as lists show it, by itself: a refusal may name some too. Types only. */

/** An address of a header; `Name` is '' where it has none. */
export interface NamedAddress {
  Name: string;
  Email: string;
}

/** One item of GET /sandbox/messages. */
export interface CaptureSummary {
  ID: string;
  MessageID: string;
  Inbox: string;
  CapturedAt: string;
  EnvelopeFrom: string;
  EnvelopeTo: string;
  From: NamedAddress;
  To: readonly NamedAddress[];
  Subject: string;
  Size: number;
  Tags: readonly string[];
  /** When it was last released, and as which message; null = never. */
  ReleasedAt: string | null;
  ReleasedAs: string | null;
  /** When somebody marked it as seen; null = not yet. */
  SeenAt: string | null;
}
