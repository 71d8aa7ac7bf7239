/** Captured mail, its inboxes, and the rules by which the sandbox plays results. Types only. */
import type { CaptureSummary } from './captures.ts';
import type { AttachmentFacts } from './email.ts';

/** POST /sandbox/messages/{ID}/release. */
export interface ReleasedAnswer {
  /** Of the message that goes out. */
  MessageID: string;
}

/** What a rule of the sandbox plays. */
export type RuleResultWord =
  | 'Deliver'
  | 'Bounce'
  | 'SoftBounce'
  | 'Defer'
  | 'Fail'
  | 'Complain'
  | 'Open'
  | 'Click';

/** One item of GET /sandbox/rules, and what POST answers. */
export interface SandboxRuleItem {
  RuleID: string;
  Domain: string;
  Inbox: string | null;
  Recipient: string | null;
  Subject: string | null;
  Tag: string | null;
  Result: RuleResultWord;
  /** How often it is deferred before it is delivered; 0 unless Result is Defer. */
  Defers: number;
  DelayMs: number;
  Reply: { Code: number; Enhanced: string; Text: string } | null;
  Probability: number;
  /** null = every recipient that fits. */
  Times: number | null;
  /** Recipients it was used for. */
  Uses: number;
  CreatedAt: string;
  ExpiresAt: string;
}

/** One item of GET /sandbox/inboxes. */
export interface InboxItem {
  /** '' for mail whose sender has no name. */
  Inbox: string;
  Domain: string;
  Count: number;
  /** Of those nobody has marked as seen. */
  Unseen: number;
  LatestID: string;
  LatestAt: string;
  LatestSubject: string;
}

/** GET /sandbox/messages/{ID}: the summary and the parsed view of the captured bytes. */
export interface CaptureDetail extends CaptureSummary {
  HTMLContent: string;
  PlainContent: string;
  Headers: readonly { Name: string; Value: string }[];
  Attachments: readonly AttachmentFacts[];
  /** Targets of the links in the HTML, in order, at most 200. */
  Links: readonly string[];
  /** Runs of 4 to 8 digits that look like one-time codes, at most 20. */
  Codes: readonly string[];
  /** Why there is no parsed view; null = there is one. */
  ParseError: string | null;
}
