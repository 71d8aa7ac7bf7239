/** Schema of why a delivery did not succeed, in timelines and in calls of webhooks. */
import { z } from 'zod';

export const bounce = z
  .object({
    Type: z.enum(['Permanent', 'Transient', 'Undetermined']),
    Class: z.string().describe('The category, e.g. RecipientInvalid'),
    Scope: z
      .enum(['recipient', 'message', 'domain', 'sender_domain', 'batch', 'path'])
      .describe('What it concerns'),
    Phase: z.enum(['Session', 'Async']),
    SmtpCode: z.int().describe('0 where no SMTP reply was received'),
    EnhancedCode: z.string().describe('RFC 3463; empty where none was given'),
    Diagnostic: z.string(),
    RemoteMta: z.string(),
  })
  .meta({ id: 'Bounce', description: 'Why a delivery did not succeed' });
