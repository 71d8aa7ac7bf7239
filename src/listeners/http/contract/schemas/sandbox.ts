/** Schemas of the answers about captured mail. */
import { z } from 'zod';
import type { CaptureSummary } from '../answers/captures.ts';
import type { Page } from '../answers/page.ts';
import type { CaptureDetail, InboxItem, ReleasedAnswer } from '../answers/sandbox.ts';
import { captureSummary, summary } from './captures.ts';
import { attachmentFacts } from './email.ts';
import { exactly } from './exactly.ts';
import { count, pageOf, time } from './shared.ts';

export const captureList = exactly<Page<CaptureSummary>>()(pageOf('CaptureList', captureSummary));

const inbox = exactly<InboxItem>()(
  z
    .object({
      Inbox: z.string().describe('Empty for mail whose sender has no name'),
      Domain: z.string(),
      Count: count,
      Unseen: count.describe('Of those nobody has marked as seen'),
      LatestID: z.uuid(),
      LatestAt: time,
      LatestSubject: z.string(),
    })
    .meta({ id: 'Inbox' }),
);

export const inboxList = exactly<Page<InboxItem>>()(pageOf('InboxList', inbox));

export const captureDetail = exactly<CaptureDetail>()(
  z
    .object({
      ...summary,
      HTMLContent: z.string(),
      PlainContent: z.string(),
      Headers: z.array(z.object({ Name: z.string(), Value: z.string() })),
      Attachments: z.array(attachmentFacts),
      Links: z
        .array(z.string())
        .describe(
          'Targets of its links, of the web and of apps, at most 200: what it asks to be followed first, what stands at its foot last',
        ),
      Codes: z
        .array(z.string())
        .describe(
          'What looks like a one-time code, best first, at most 20; one in groups as it is typed (123456), then as it is written (123 456)',
        ),
      ParseError: z.string().nullable().describe('Why there is no parsed view; null = there is one'),
    })
    .meta({ id: 'CaptureDetail' }),
);

export const released = exactly<ReleasedAnswer>()(z.object({ MessageID: z.uuid() }).meta({ id: 'Released' }));

export const capturesDeleted = z.object({ Deleted: count }).meta({ id: 'CapturesDeleted' });
