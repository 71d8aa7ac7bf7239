/** How a sender domain stands, in words: what follows for its mail, and what is wrong first. Pure. */
import type { Domain, Hold } from '../../../src/client/api-types.ts';
import { capital } from '../../../src/lib/capital.ts';

export type DomainWord = 'Verified' | 'Failing' | 'Held' | 'Pending';

type Standing = Pick<Domain, 'Status' | 'HeldFrom'>;

/** Its word: a failing domain whose time is over is held, as a suspended one is. */
export function wordOf({ Status, HeldFrom }: Standing, nowMs: number): DomainWord {
  if (Status === 'Suspended') return 'Held';
  if (Status === 'Failing' && HeldFrom !== null && Date.parse(HeldFrom) <= nowMs) return 'Held';
  return Status;
}

/** What that means for its mail. */
export function meaningOf(domain: Standing & Pick<Domain, 'VerifiedBy' | 'Checks'>, nowMs: number): string {
  const word = wordOf(domain, nowMs);
  if (word === 'Held')
    return domain.Status === 'Suspended'
      ? 'Its mail waits: it was stopped by hand.'
      : 'Its mail waits until the records are right again.';
  if (word === 'Failing') return 'It still sends. Put the records right before its mail is held.';
  if (word === 'Pending')
    return 'It may not send yet. Publish its DNS records; the DKIM record is the one that counts.';
  return domain.VerifiedBy === 'operator'
    ? 'It may send: an operator vouched for it. Receivers still look for its records.'
    : 'It may send: its DKIM record was found.';
}

/** Whether a hold is of all mail of this sender domain, or of all mail. */
export function keepsBackAll(
  { SenderDomain, RecipientDomain, Site, Priority }: Hold,
  domain: string,
): boolean {
  return (
    (SenderDomain === null || SenderDomain === domain) &&
    [RecipientDomain, Site, Priority].every((one) => one === null)
  );
}

const RANK = { Failed: 0, Warning: 1, Unknown: 2, Ok: 3 } as const;

/** The sentence about what is worst; null where nothing is wrong. */
export function worstOf({ Checks, Returns }: Pick<Domain, 'Checks' | 'Returns'>): string | null {
  if (Returns !== null && Returns.Level === 'Hold') return Returns.Reason;
  const [worst] = Checks.filter(({ Status }) => Status === 'Failed').sort(
    (a, b) => Number(b.BlocksSending) - Number(a.BlocksSending),
  );
  if (worst !== undefined) return worst.Message;
  return Returns !== null && Returns.Level === 'Warn' ? Returns.Reason : null;
}

/** Of a list: what may not send, then what something is wrong with, then the others; each by name. */
export function worstFirst(a: Domain, b: Domain): number {
  return rankOf(a) - rankOf(b) || a.Domain.localeCompare(b.Domain, undefined, { numeric: true });
}

function rankOf(domain: Domain): number {
  return domain.Status !== 'Verified' ? 0 : worstOf(domain) !== null ? 1 : 2;
}

/** Nothing more is to be waited for: it may send, and no check fails. */
export function isGreen({ Status, LastCheckedAt, Checks }: Domain): boolean {
  return (
    Status === 'Verified' && LastCheckedAt !== null && !Checks.some((check) => check.Status === 'Failed')
  );
}

/** What was found of a record: the words of the status that `status` names, or that nothing is there. */
export function foundOf(
  { Status }: Pick<Domain['DnsRecords'][number], 'Status'>,
  check: Pick<Domain['Checks'][number], 'Status' | 'Found'> | null,
): { status: string; words?: string } {
  const status = check?.Status ?? Status;
  const isMissing = check !== null && check.Found.length === 0 && status !== 'Unknown' && status !== 'Ok';
  return { status, ...(isMissing ? { words: 'Missing' } : {}) };
}

/** The check that looked at a record; null before the first. */
export function checkOf(
  { Checks }: Pick<Domain, 'Checks'>,
  { Type, Host }: Pick<Domain['DnsRecords'][number], 'Type' | 'Host'>,
): Domain['Checks'][number] | null {
  return Checks.find((check) => check.Type === Type && check.Host === Host) ?? null;
}

/** The worst first. */
export function byStatus(a: Domain['Checks'][number], b: Domain['Checks'][number]): number {
  return RANK[a.Status] - RANK[b.Status];
}

/** What a check is about, by its name in the API. */
const CHECK_NAMES: Readonly<Record<string, string>> = {
  own: 'Ownership',
  rp: 'Return path',
  spf: 'SPF',
  'spf-from': 'SPF of the From domain',
  reports: 'DMARC reports',
  dmarc: 'DMARC',
  align: 'Alignment',
  'from-mx': 'Replies',
  track: 'Tracking host',
  bimi: 'Logo (BIMI)',
  'cname-loop': 'CNAME loop',
  wildcard: 'Wildcard record',
  // Of the server itself.
  'bounce-domain': 'Bounce domain',
  port25: 'Port 25',
  https: 'HTTPS',
  ptr: 'Reverse DNS',
  dnsbl: 'Block lists',
};

export function checkName(name: string): string {
  // Some are named with the address that they are about.
  const [kind = '', ...of] = name.split(' ');
  const known = CHECK_NAMES[kind] ?? (/^dkim\d/.test(kind) ? 'DKIM' : kind);
  return [capital(known), ...of].join(' ');
}
