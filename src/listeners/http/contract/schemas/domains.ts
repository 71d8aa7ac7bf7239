/** Schemas of the answers about sender domains, about whom they do not send to, and about erased persons. */
import { z } from 'zod';
import type { DoctorAnswer } from '../answers/doctor.ts';
import type {
  DnsRecordItem,
  DomainAnswer,
  DomainChangeItem,
  DomainCheckItem,
  DomainReturns,
} from '../answers/domains.ts';
import type { Page } from '../answers/page.ts';
import type { EraseAnswer } from '../answers/suppressions.ts';
import { exactly } from './exactly.ts';
import { count, pageOf, time } from './shared.ts';

const dnsRecord = exactly<DnsRecordItem>()(
  z
    .object({
      Type: z.string(),
      Host: z.string(),
      Value: z.string(),
      Purpose: z.string(),
      Required: z.boolean(),
      Status: z
        .enum(['Unknown', 'Ok', 'Warning', 'Failed'])
        .describe('Unknown before the first check, and for records that are only suggested'),
    })
    .meta({ id: 'DnsRecord', description: 'A record to publish' }),
);

const checkStatus = z
  .enum(['Ok', 'Unknown', 'Warning', 'Failed'])
  .describe('Unknown: the check could not be made');

const check = exactly<DomainCheckItem>()(
  z
    .object({
      Name: z.string(),
      Status: checkStatus,
      Type: z.string().describe('Kind of record that was looked up'),
      Host: z.string(),
      Expected: z.string(),
      Found: z.array(z.string()),
      Message: z.string().describe('What was found, in plain words'),
      Fix: z.string().describe('What to do; empty where nothing is'),
      BlocksSending: z.boolean().describe('Mail of the domain does not leave until this is Ok'),
    })
    .meta({ id: 'DomainCheck' }),
);

const change = exactly<DomainChangeItem>()(
  z
    .object({
      Name: z.string(),
      From: checkStatus.nullable().describe('null: it came'),
      To: checkStatus.nullable().describe('null: it went'),
      Message: z.string(),
      At: time,
    })
    .meta({
      id: 'DomainChange',
      description: 'A check that came, went, changed, or whose record reads otherwise',
    }),
);

const returns = exactly<DomainReturns>()(
  z
    .object({
      Level: z.enum(['Ok', 'Warn', 'Hold']).describe('Hold: its bulk mail waits'),
      Outcomes: count,
      Bounced: count,
      Complained: count,
      Reason: z.string(),
    })
    .meta({ id: 'DomainReturns', description: 'What came back of the last 1000 outcomes' }),
);

const quota = count.nullable();

export const domainStatus = z.enum(['Pending', 'Verified', 'Failing', 'Suspended']);

export const domainAnswer = exactly<DomainAnswer>()(
  z
    .object({
      Domain: z.string(),
      Status: domainStatus,
      VerifiedBy: z.enum(['dns', 'operator']).nullable(),
      Subdomains: z.boolean().describe('Its sub-domains may send too'),
      Retention: z
        .object({ ContentDays: count.nullable(), EventDays: count.nullable() })
        .describe('Days; null = as the server is set'),
      RequireTls: z.boolean(),
      AtMostOnce: z.boolean(),
      Quota: z
        .object({ PerMinute: quota, PerHour: quota, PerDay: quota })
        .describe('Recipients; null = as the server is set'),
      ReturnPathHost: z.string().describe('Empty = the server’s'),
      Tracking: z.object({ Opens: z.boolean(), Clicks: z.boolean() }),
      ListUnsubscribe: z.boolean(),
      TrackingHost: z.string().describe('Empty = the server’s public URL'),
      CreatedAt: time,
      UpdatedAt: time,
      VerifiedAt: time.nullable(),
      FailingSince: time.nullable(),
      LastCheckedAt: time.nullable(),
      DnsRecords: z.array(dnsRecord),
      Checks: z.array(check).describe('What the last check found, item by item; empty before the first'),
      Changes: z.array(change).describe('What changed between checks lately, newest first'),
      Returns: returns.nullable().describe('null: nothing came back lately'),
    })
    .meta({ id: 'Domain' }),
);

export const domainList = exactly<Page<DomainAnswer>>()(pageOf('DomainList', domainAnswer));

export const doctorAnswer = exactly<DoctorAnswer>()(
  z
    .object({
      CheckedAt: time,
      Instance: z.array(check).describe('This server itself'),
      Domains: z.array(
        z.object({
          Domain: z.string(),
          Status: domainStatus,
          CheckedAt: time.nullable(),
          Checks: z.array(check),
          Changes: z.array(change),
          Zone: z.string().describe('Its records as lines of a zone file'),
        }),
      ),
    })
    .meta({ id: 'Doctor' }),
);

export const eraseAnswer = exactly<EraseAnswer>()(
  z
    .object({
      Messages: count.describe('Messages in which the person stood'),
      Events: count.describe('Events in which the address was masked'),
      Pending: count.describe('Messages of which something had to stay until a copy under way is final'),
      Share: z.number().describe('How much of the work is done, 0 to 1'),
      NextCursor: z.string().nullable().describe('`After` of the next request; null = all is done'),
    })
    .meta({ id: 'EraseAnswer' }),
);
