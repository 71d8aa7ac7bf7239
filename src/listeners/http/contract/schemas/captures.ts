/** Schema of a captured copy in a list, by itself: an error body may name some too. */
import { z } from 'zod';
import type { CaptureSummary, NamedAddress } from '../answers/captures.ts';
import { exactly } from './exactly.ts';
import { count, time } from './shared.ts';

/** An address of a header. */
export const namedAddress = exactly<NamedAddress>()(
  z
    .object({ Name: z.string().describe('Empty where there is none'), Email: z.string() })
    .meta({ id: 'NamedAddress' }),
);

/** Members that list and detail share. */
export const summary = {
  ID: z.uuid(),
  MessageID: z.string(),
  Inbox: z.string(),
  CapturedAt: time,
  EnvelopeFrom: z.string(),
  EnvelopeTo: z.string(),
  From: namedAddress,
  To: z.array(namedAddress),
  Subject: z.string(),
  Size: count,
  Tags: z.array(z.string()),
  ReleasedAt: time.nullable().describe('When it was last released; null = never'),
  ReleasedAs: z.string().nullable().describe('As which message'),
  SeenAt: time.nullable().describe('When somebody marked it as seen; null = not yet'),
};

/** An entry of the list. */
export const captureSummary = exactly<CaptureSummary>()(z.object(summary).meta({ id: 'CaptureSummary' }));
