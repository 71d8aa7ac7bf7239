/**
 * The body of one webhook call: the exact bytes that are signed and sent, made from an event and the webhook. The order
 * of keys is part of the interface. It names one recipient and never an address list, so a BCC is not disclosed. A body
 * over 20 kB is shortened, least important parts first, and has `Truncated`. Cannot fail.
 */
import { wellFormedJson } from '../../lib/well-formed-json.ts';
import type { Bounce } from '../../model/bounce.ts';
import { EVENT_KINDS } from '../../model/event.ts';
import type { EventDetail, EventView } from '../../store/topics/events.ts';

/** Largest body in bytes. */
export const MAX_BODY_BYTES = 20_000;

/** The part of each free text that is kept, in characters; for tags and metadata, characters of their JSON. */
interface Budget {
  diagnostic: number;
  subject: number;
  text: number;
  tags: number;
  metadata: number;
}

const FULL: Budget = {
  diagnostic: 512,
  subject: 4_096,
  text: 2_048,
  tags: Number.POSITIVE_INFINITY,
  metadata: Number.POSITIVE_INFINITY,
};
/** Tried in order until the body fits. The last always fits: a character has at most six bytes. */
const TIGHTER: readonly Budget[] = [
  { diagnostic: 512, subject: 998, text: 2_048, tags: 2_000, metadata: 4_000 },
  { diagnostic: 256, subject: 256, text: 512, tags: 500, metadata: 1_000 },
  { diagnostic: 128, subject: 128, text: 128, tags: 0, metadata: 0 },
];

/** Body of the call that reports `event` to webhook `webhookId`: UTF-8 JSON, at most 20,000 bytes. */
export function webhookBody(event: EventView, webhookId: number): Uint8Array {
  for (const budget of [FULL, ...TIGHTER]) {
    const bytes = Buffer.from(wellFormedJson(shape(event, webhookId, budget)));
    if (bytes.length <= MAX_BODY_BYTES) return bytes;
  }
  throw new RangeError('A webhook body cannot be longer than its budgets');
}

/** `webhook-id` of every try for this event, by which consumers recognise repetitions. */
export function callId(eventId: string): string {
  return `evt_${eventId.replaceAll('-', '')}`;
}

function shape(event: EventView, webhookId: number, budget: Budget): object {
  const type = EVENT_KINDS[event.kind].payloadType ?? event.kind;
  const data =
    event.message === null ? aboutDomain(event, webhookId, budget) : aboutMessage(event, webhookId, budget);
  return {
    type,
    timestamp: new Date(event.at).toISOString(),
    data: budget === FULL ? data : { ...data, Truncated: true },
  };
}

/** domain.verified, webhook.disabled, operator.alert and others: they concern no message, so they have none of its members. */
function aboutDomain(event: EventView, webhookId: number, budget: Budget): object {
  const detail = event.detail ?? {};
  return {
    EventID: event.id,
    WebhookID: webhookId,
    Domain: event.domain,
    ...(detail.webhookId === undefined ? {} : { DisabledWebhookID: detail.webhookId }),
    ...(detail.alert === undefined ? {} : { Alert: alertObject(detail.alert, budget) }),
    ...reason(detail, budget),
  };
}

function alertObject(alert: NonNullable<EventDetail['alert']>, budget: Budget): object {
  const { kind, subject, fix, since, endedAt } = alert;
  return {
    Kind: kind,
    Subject: cut(subject, 255),
    State: endedAt === null ? 'Began' : 'Ended',
    Since: new Date(since).toISOString(),
    ...(endedAt === null
      ? { Fix: cut(fix, Math.min(512, budget.text)) }
      : { EndedAt: new Date(endedAt).toISOString(), LastedSeconds: Math.round((endedAt - since) / 1000) }),
  };
}

function aboutMessage(event: EventView, webhookId: number, budget: Budget): object {
  const { message } = event;
  if (message === null) return {};
  const detail = event.detail ?? {};
  return {
    EventID: event.id,
    WebhookID: webhookId,
    Event: event.kind,
    Domain: event.domain,
    MessageID: message.id,
    From: cut(message.lists.from.address, 320),
    To: cut(event.recipient ?? '', 320),
    Subject: cut(message.subject, budget.subject),
    Tags: keepTags(message.tags, budget.tags),
    Metadata: keepMetadata(message.metadata, budget.metadata),
    Sandbox: message.sandbox,
    Attempt: detail.attempt ?? 0,
    ...ofKind(event, detail, budget),
  };
}

/** Members that only some kinds have. */
function ofKind(event: EventView, detail: EventDetail, budget: Budget): object {
  const bounce = detail.bounce === undefined ? {} : { Bounce: bounceObject(detail.bounce, budget) };
  switch (event.kind) {
    case 'opened':
    case 'clicked':
      return {
        IPAddress: cut(detail.ipAddress ?? '', 64),
        UserAgent: cut(detail.userAgent ?? '', Math.min(512, budget.text)),
        URL: cut(detail.url ?? '', budget.text),
        Bot: detail.bot ?? false,
      };
    case 'delivered': {
      const route = detail.route ?? event.route;
      return {
        ...(route === null ? {} : { Route: route }),
        ...(detail.possibleDuplicate === true ? { PossibleDuplicate: true } : {}),
      };
    }
    case 'scheduled':
      return detail.nextAttemptAt === undefined
        ? {}
        : { SendAt: new Date(detail.nextAttemptAt).toISOString() };
    case 'deferred':
      return {
        ...bounce,
        ...(detail.nextAttemptAt === undefined
          ? {}
          : { NextAttemptAt: new Date(detail.nextAttemptAt).toISOString() }),
      };
    default:
      return { ...bounce, ...reason(detail, budget) };
  }
}

function reason(detail: EventDetail, budget: Budget): object {
  return detail.reason === undefined ? {} : { Reason: cut(detail.reason, Math.min(512, budget.diagnostic)) };
}

function bounceObject(bounce: Bounce, budget: Budget): Bounce {
  return {
    Type: bounce.Type,
    Class: bounce.Class,
    Scope: bounce.Scope,
    Phase: bounce.Phase,
    SmtpCode: bounce.SmtpCode,
    EnhancedCode: cut(bounce.EnhancedCode, 16),
    Diagnostic: cut(bounce.Diagnostic, budget.diagnostic),
    RemoteMta: cut(bounce.RemoteMta, 255),
  };
}

/** The first tags whose JSON takes at most `maxChars`. */
function keepTags(tags: readonly string[], maxChars: number): string[] {
  let used = 0;
  const kept: string[] = [];
  for (const tag of tags) {
    used += JSON.stringify(tag).length + 1;
    if (used > maxChars) break;
    kept.push(tag);
  }
  return kept;
}

/** The first pairs whose JSON has at most `maxChars` characters; built so that `__proto__` is an ordinary key. */
function keepMetadata(metadata: Readonly<Record<string, string>>, maxChars: number): Record<string, string> {
  let used = 0;
  const kept: [string, string][] = [];
  for (const [name, value] of Object.entries(metadata)) {
    used += JSON.stringify(name).length + JSON.stringify(value).length + 2;
    if (used > maxChars) break;
    kept.push([name, value]);
  }
  return Object.fromEntries(kept);
}

/** At most `maxChars` UTF-16 units, without half characters. */
function cut(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  const last = text.charCodeAt(maxChars - 1);
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? maxChars - 1 : maxChars);
}
