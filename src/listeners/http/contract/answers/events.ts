/** Events as they are listed, as lines of one message's timeline, and as a stream sends them. Types only. */
import type { Bounce } from '../../../../model/bounce.ts';

/** `[name, email]`. */
export type AddressPair = readonly [name: string, email: string];

/** One item of GET /events. Frozen. */
export interface EventRecord {
  Event: string;
  /** Unix seconds. */
  LoggedAt: number;
  LogLevel: 'Info' | 'Warn' | 'Error';
  Message: {
    Headers: {
      MessageId: string;
      From: readonly AddressPair[];
      ReplyTo: readonly AddressPair[];
      To: readonly AddressPair[];
      Cc: readonly AddressPair[];
      Bcc: readonly AddressPair[];
      Subject: string;
    };
    Size: number;
    Transport: 'smtp' | 'sandbox';
  };
  Recipient: string;
  Reason: string;
  Ip: string;
  Geolocation: { City: string; Region: string; Country: string };
}

/** GET /events. Frozen. */
export interface EventList {
  /** Exact up to 10 000, then 10 000. */
  TotalRecords: number;
  Events: readonly EventRecord[];
}

/** One line of a message's timeline: GET /email/{MessageID}/events. */
export interface TimelineEntry {
  EventID: string;
  Event: string;
  At: string;
  LogLevel: 'Info' | 'Warn' | 'Error';
  Recipient: string | null;
  Attempt: number | null;
  Route: 'mx' | 'relay' | 'sandbox' | null;
  Reason: string;
  RemoteMta: string;
  Reply: string;
  Tls: string;
  DurationMs: number | null;
  NextAttemptAt: string | null;
  PossibleDuplicate: boolean;
  Bounce: Bounce | null;
  /** Of a deferral, bounce or failure: what it means, whose fault it is, what happens next, who can mend it. */
  Explanation: string;
  IPAddress: string;
  UserAgent: string;
  URL: string;
  /** The SMTP conversation; only with the scope email:read or admin. */
  Conversation?: string;
}

/** The data of one event of GET /events/stream; MessageID is null for events about no message. */
export interface StreamedEvent extends TimelineEntry {
  Domain: string;
  MessageID: string | null;
  From: string;
  Subject: string;
  Tags: readonly string[];
  Metadata: Readonly<Record<string, string>>;
  Sandbox: boolean;
}
