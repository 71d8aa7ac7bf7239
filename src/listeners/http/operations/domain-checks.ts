/** The results of the checks of a sender domain, and what changed between them, as the API shows them. */
import { z } from 'zod';
import type { Domain } from '../../../model/domain.ts';
import { readChanges } from '../../../policy/domains/doctor/changes.ts';
import type { DomainCheck } from '../../../policy/domains/doctor/check.ts';
import { type Answer, time } from '../answer-schemas.ts';
import { isoTime } from '../route.ts';

const checkStatus = z
  .enum(['Ok', 'Unknown', 'Warning', 'Failed'])
  .describe('Unknown: the check could not be made');

export const check = z
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
  .meta({ id: 'DomainCheck' });

export const change = z
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
  });

export const domainStatus = z.enum(['Pending', 'Verified', 'Failing', 'Suspended']);

export const alignment = z
  .object({
    Dkim: z.object({
      Domain: z.string().describe('d= of its signatures'),
      Strict: z.boolean().describe('DMARC asks for exactly the From domain (adkim=s)'),
      Aligns: z.boolean(),
      Published: z.boolean().describe('The record of the active key was found'),
    }),
    ReturnPath: z.object({
      Host: z.string(),
      Strict: z.boolean().describe('DMARC asks for exactly the From domain (aspf=s)'),
      Aligns: z.boolean(),
    }),
  })
  .meta({
    id: 'DomainAlignment',
    description: 'Which names of its mail count as those of the From address, for DMARC',
  });

export type DomainCheckItem = Answer<typeof check>;

const STATUS = { ok: 'Ok', unknown: 'Unknown', warn: 'Warning', fail: 'Failed' } as const;

/** What changed between checks lately, newest first. */
export function changeItems(domain: Domain): Answer<typeof change>[] {
  return readChanges(domain.changes).map((change) => ({
    Name: change.id,
    From: change.from === null ? null : STATUS[change.from],
    To: change.to === null ? null : STATUS[change.to],
    Message: change.message,
    At: isoTime(change.at),
  }));
}

/** What the last check of a domain found about alignment; null where it was not looked at. */
export function alignmentOf(checks: readonly DomainCheck[]): Answer<typeof alignment> | null {
  const found = checks.find((check) => check.alignment !== undefined)?.alignment;
  if (found === undefined) return null;
  const { dkim, returnPath } = found;
  return {
    Dkim: { Domain: dkim.domain, Strict: dkim.strict, Aligns: dkim.aligns, Published: dkim.found },
    ReturnPath: { Host: returnPath.host, Strict: returnPath.strict, Aligns: returnPath.aligns },
  };
}

/** A check in the words of the API. */
export function toCheckItem(check: DomainCheck): DomainCheckItem {
  return {
    Name: check.id,
    Status: STATUS[check.severity],
    Type: check.record.type,
    Host: check.record.name,
    Expected: check.record.expected,
    Found: check.record.found,
    Message: check.message,
    Fix: check.fix,
    BlocksSending: check.blocks === true,
  };
}
