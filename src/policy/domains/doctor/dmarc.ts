/**
 * DMARC (RFC 9989): finds the policy of a domain by the tree walk, decides which names belong to the same organisation,
 * and checks the record.
 *
 * The tree walk looks the records up; the checks only read its result. `pct`, `rf` and `ri` were removed from the
 * standard: they are never recommended, and cause a warning if present. At most eight names are asked on the way up
 * (RFC 9989 §4.10), and at most three receivers of reports.
 */
import { isAtOrBelow } from '../../../mail/address-text.ts';
import { readTagList } from '../../../mail/tag-list.ts';
import type { DnsAnswer } from '../../../net/dns-types.ts';
import { dmarcValue } from '../dns-records.ts';
import { type DomainCheck, openCheck, showable } from './check.ts';

export interface DmarcRecord {
  /** Lower case; the first of a repeated tag counts. */
  tags: ReadonlyMap<string, string>;
  /** Mail domains of `rua=`. */
  reportDomains: readonly string[];
}

/** One name of the tree walk. */
export interface DmarcStep {
  domain: string;
  /** Texts that begin with `v=DMARC1`. */
  texts: readonly string[];
  /** null: none, several, or one that cannot be read. */
  record: DmarcRecord | null;
  failure: Extract<DnsAnswer<string>, { kind: 'failure' }> | null;
}

export interface DmarcClimb {
  /** The domain itself first. */
  steps: readonly DmarcStep[];
  /** The organisational domain; the domain itself if no record was found. */
  organisation: string;
}

const MAX_STEPS = 8;
const MAX_TEXT = 4096;
const MAX_TAGS = 32;
const MAX_REPORT_DOMAINS = 3;
const GONE = ['pct', 'rf', 'ri'];
const POLICIES = ['none', 'quarantine', 'reject'];

/** Whether a text is a DMARC record; its version is case-sensitive (RFC 9989 §4.7). */
export function isDmarc(text: string): boolean {
  return /^\s*v\s*=\s*DMARC1\s*(?:;|$)/.test(text.slice(0, MAX_TEXT));
}

/** The tags of a record for which `isDmarc` is true. */
export function parseDmarc(text: string): DmarcRecord {
  const tags = readTagList(text.slice(0, MAX_TEXT), MAX_TAGS, (name) => name.toLowerCase());
  const reportDomains = (tags.get('rua') ?? '')
    .split(',', 20)
    .map((uri) => /^\s*mailto:[^@\s]+@([a-z0-9.-]+)/i.exec(uri)?.[1]?.toLowerCase().replace(/\.$/, ''))
    .filter((domain) => domain !== undefined);
  return { tags, reportDomains: [...new Set(reportDomains)].slice(0, MAX_REPORT_DOMAINS) };
}

/** Looks up `_dmarc` of the domain and of the names above it (RFC 9989 §4.10). */
export async function climbDmarc(
  txt: (name: string) => Promise<DnsAnswer<string>>,
  domain: string,
): Promise<DmarcClimb> {
  const steps: DmarcStep[] = [];
  for (const at of namesUp(domain)) {
    const answer = await txt(`_dmarc.${at}`);
    const texts = answer.kind === 'found' ? answer.records.filter(isDmarc) : [];
    const [text] = texts;
    const record = text !== undefined && texts.length === 1 ? parseDmarc(text) : null;
    steps.push({ domain: at, texts, record, failure: answer.kind === 'failure' ? answer : null });
    const psd = record?.tags.get('psd')?.toLowerCase();
    if (psd === 'n' || (psd === 'y' && at !== domain)) break;
  }
  return { steps, organisation: organisationOf(domain, steps) };
}

/** The domain and the names above it, at most eight: of a long one the middle is skipped (§4.10). */
function namesUp(domain: string): string[] {
  const labels = domain.split('.');
  const names = [domain];
  for (let left = Math.max(1, labels.length - (MAX_STEPS - 1)); left < labels.length; left++) {
    names.push(labels.slice(left).join('.'));
  }
  return names.slice(0, MAX_STEPS);
}

function organisationOf(domain: string, steps: readonly DmarcStep[]): string {
  let found = domain;
  for (const { domain: at, record } of steps) {
    if (record === null) continue;
    const psd = record.tags.get('psd')?.toLowerCase();
    if (psd === 'n') return at;
    // The public suffix has no owner: the name below it is the organisation.
    if (psd === 'y' && at !== domain)
      return domain
        .split('.')
        .slice(-(at.split('.').length + 1))
        .join('.');
    found = at;
  }
  return found;
}

/** Whether receivers of reports about this domain have agreed, by receiving domain; true = agreed. */
export async function reportAuthorisations(
  txt: (name: string) => Promise<DnsAnswer<string>>,
  policy: DmarcStep,
  organisation: string,
): Promise<ReadonlyMap<string, boolean | null>> {
  const found = new Map<string, boolean | null>();
  for (const domain of policy.record?.reportDomains ?? []) {
    if (isAtOrBelow(domain, organisation)) continue;
    const answer = await txt(`${policy.domain}._report._dmarc.${domain}`);
    found.set(
      domain,
      answer.kind === 'failure' ? null : answer.kind === 'found' && answer.records.some(isDmarc),
    );
  }
  return found;
}

/** The step whose record applies to the domain: its own, or that of the organisation; null = none. */
export function policyOf(climb: DmarcClimb): DmarcStep | null {
  const [own] = climb.steps;
  if (own === undefined) return null;
  if (own.record !== null || own.texts.length > 0) return own;
  return climb.steps.find(({ domain, record }) => domain === climb.organisation && record !== null) ?? null;
}

/** Checks the policy that applies to the domain. `bulk`: it sends bulk mail, such as newsletters. */
export function judgeDmarc(
  climb: DmarcClimb,
  params: {
    domain: string;
    bulk: boolean;
    /** Where this server takes reports about it; null = nowhere. */
    reportsTo: string | null;
    authorisations: ReadonlyMap<string, boolean | null>;
  },
): DomainCheck {
  const { domain, bulk, reportsTo, authorisations } = params;
  const own = climb.steps[0];
  const policy = policyOf(climb);
  const name = `_dmarc.${policy?.domain ?? domain}`;
  const expected = dmarcValue(reportsTo);
  const check = openCheck('dmarc', 'TXT', name, { expected, found: policy?.texts ?? own?.texts ?? [] });
  if (policy === null) {
    if (own?.failure !== null && own?.failure !== undefined) {
      check.unanswered(name, own.failure.reason);
      return check.done();
    }
    check[bulk ? 'fail' : 'warn'](
      `There is no DMARC record for ${domain}: large receivers refuse newsletters of such domains, and anybody can write in its name.`,
      `Publish a TXT record at ${name}: ${expected}`,
    );
    return check.done();
  }
  if (policy.texts.length > 1) {
    check.fail(
      `There are ${policy.texts.length} DMARC records at ${name}; with more than one, none counts.`,
      'Keep one of them.',
    );
    return check.done();
  }
  const tags = policy.record?.tags ?? new Map<string, string>();
  const p = tags.get('p')?.toLowerCase();
  if (p === undefined || !POLICIES.includes(p)) {
    const what = p === undefined ? 'names no policy (p=)' : `has the unknown policy p=${showable(p)}`;
    const counted = (policy.record?.reportDomains.length ?? 0) > 0;
    check[counted ? 'warn' : 'fail'](
      `The DMARC record at ${name} ${what}${counted ? '; receivers take it as p=none' : ', so it does not count'}.`,
      'Write p=none, p=quarantine or p=reject behind v=DMARC1.',
    );
  }
  const gone = GONE.filter((tag) => tags.has(tag));
  if (gone.length > 0) {
    const list = gone.map((tag) => `${tag}=`).join(', ');
    check.warn(
      `The DMARC record at ${name} uses ${list}, which ${gone.length === 1 ? 'is' : 'are'} gone from the standard and not looked at.`,
      `Remove ${list}.`,
    );
  }
  if (tags.get('t')?.toLowerCase() === 'y') {
    check.warn(
      `The DMARC record at ${name} is marked as a test (t=y), so its policy is not applied in full.`,
      'Remove t=y once the reports look right.',
    );
  }
  for (const [to, given] of authorisations) {
    if (given !== false) continue;
    check.warn(
      `Reports about ${policy.domain} are to go to ${showable(to)}, which has not agreed to that, so receivers do not send them.`,
      `Publish a TXT record at ${policy.domain}._report._dmarc.${showable(to)}: v=DMARC1`,
    );
  }
  const isInherited = policy.domain !== domain;
  // For a sub-domain `sp=` counts before `p=` (RFC 9989 §4.7).
  const sp = isInherited ? tags.get('sp')?.toLowerCase() : undefined;
  const applied = sp !== undefined && POLICIES.includes(sp) ? `sp=${sp}` : `p=${p ?? 'none'}`;
  const inherited = isInherited ? `, inherited from ${policy.domain}` : '';
  const asks = reportsTo === null || tags.get('rua')?.toLowerCase().includes(`mailto:${reportsTo}`) === true;
  const unasked = asks
    ? ''
    : ` Reports do not come to this server; to see them here, add mailto:${reportsTo} to its rua.`;
  return check.done(`The DMARC record is in place (${applied}${inherited}).${unasked}`);
}

/**
 * Whether the From address belongs to the same organisation as DKIM's d= and the return path, as DMARC requires of one
 * that passes. `returnOrganisation`: the organisational domain of the return path's host. `subdomains`: mail is also sent from
 * sub-domains.
 */
export function judgeAlignment(params: {
  domain: string;
  climb: DmarcClimb;
  subdomains: boolean;
  returnHost: string;
  returnOrganisation: string;
  /** The DKIM check of the active key did not fail. */
  signed: boolean;
  /** The SPF check of the return path did not fail. */
  covered: boolean;
}): DomainCheck {
  const { domain, climb, subdomains, returnHost, returnOrganisation, signed, covered } = params;
  const tags = policyOf(climb)?.record?.tags ?? new Map<string, string>();
  const strict = (tag: string) => tags.get(tag)?.toLowerCase() === 's';
  const spf = strict('aspf') ? returnHost === domain : returnOrganisation === climb.organisation;
  const dkim = !(strict('adkim') && subdomains);
  const bySpf = spf && covered;
  const byDkim = dkim && signed;
  const found = [`d=${domain}`, `return path ${returnHost}`];
  const check = openCheck('align', 'HOST', domain, { found });
  if (!dkim) {
    check[bySpf ? 'warn' : 'fail'](
      `adkim=s requires DKIM's d= to be exactly the From domain: mail from sub-domains of ${domain} is signed as d=${domain}, so strict alignment will fail for it.`,
      'Remove adkim=s, or add each sub-domain as a sender domain of its own.',
    );
  }
  if (strict('aspf') && !spf && (returnHost === domain || isAtOrBelow(returnHost, climb.organisation))) {
    check[byDkim ? 'warn' : 'fail'](
      `aspf=s requires the return path to be exactly at ${domain}: strict alignment will fail for ${returnHost}.`,
      byDkim ? 'Remove aspf=s; until then DMARC rests on DKIM alone.' : 'Remove aspf=s.',
    );
  }
  if (!signed && !bySpf) {
    check.fail(
      'Neither DKIM nor SPF speaks for the From domain, so mail fails DMARC.',
      'Correct the DKIM record of the active key first.',
    );
  }
  const mode = strict('adkim') ? 'strict' : 'relaxed';
  const dkimSays = signed
    ? `DKIM's d=${domain} aligns (${mode})`
    : `DKIM's d=${domain} would align (${mode}), but its record is wrong`;
  const spfSays = bySpf
    ? `SPF aligns via ${returnHost}${signed ? '' : ' and is enough alone'}`
    : spf
      ? `SPF would align via ${returnHost}, but its check fails; DKIM alone is enough`
      : `SPF does not align, since return paths are at ${returnHost}; DKIM alone is enough`;
  return {
    ...check.done(`With From addresses at ${domain}, ${dkimSays}; ${spfSays}.`),
    alignment: {
      dkim: { domain, strict: strict('adkim'), aligns: dkim, found: signed },
      returnPath: { host: returnHost, strict: strict('aspf'), aligns: spf },
    },
  };
}
