/** Schemas of the body of a webhook call, one per kind of event that webhooks carry. */
import { z } from 'zod';
import { EVENT_KINDS, type EventKind } from '../../../model/event.ts';
import { bounce, count, metadata, route, time } from '../answer-schemas.ts';

const about = {
  EventID: z.uuid().describe('The same on every try'),
  WebhookID: z.int().min(1),
  Domain: z.string().describe('Sender domain'),
  Truncated: z.literal(true).optional().describe('Texts were shortened: the body has at most 20 000 octets'),
};

const message = {
  MessageID: z.uuid(),
  From: z.string(),
  To: z.string().describe('The recipient of this event, never a list'),
  Subject: z.string(),
  Tags: z.array(z.string()),
  Metadata: metadata,
  Sandbox: z.boolean(),
  Attempt: count,
};

const reason = { Reason: z.string().optional() };

/** The members that only this kind has. */
function ofKind(kind: EventKind): z.ZodRawShape {
  switch (kind) {
    case 'opened':
    case 'clicked':
      return {
        IPAddress: z.string(),
        UserAgent: z.string(),
        URL: z.string(),
        Bot: z.boolean().describe('Likely a program, not a reader'),
      };
    case 'delivered':
      return { Route: route.optional(), PossibleDuplicate: z.literal(true).optional() };
    case 'scheduled':
      return { SendAt: time.optional() };
    case 'deferred':
      return { Bounce: bounce.optional(), NextAttemptAt: time.optional() };
    default:
      return { Bounce: bounce.optional(), ...reason };
  }
}

/** Payload `type` → schema of the body, in the order of the kinds. */
export function webhookPayloads(): readonly {
  type: string;
  kind: EventKind;
  meaning: string;
  schema: z.ZodType;
}[] {
  return (Object.keys(EVENT_KINDS) as EventKind[]).flatMap((kind) => {
    const { payloadType: type, meaning } = EVENT_KINDS[kind];
    if (type === null) return [];
    const data = type.startsWith('email.')
      ? { ...about, Event: z.literal(kind), ...message, ...ofKind(kind) }
      : { ...about, ...reason, DisabledWebhookID: z.int().optional() };
    const schema = z.object({
      type: z.literal(type),
      timestamp: time.describe('When it happened'),
      data: z.object(data),
    });
    return [{ type, kind, meaning, schema }];
  });
}
