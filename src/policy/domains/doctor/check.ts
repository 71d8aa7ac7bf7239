/**
 * One check of the doctor, and how several findings about one record become one check. All shown texts come from other
 * people's DNS, so they are cut and freed of control characters here.
 */
import type { DnsFailureReason } from '../../../net/dns-types.ts';

/** `unknown`: the check could not be made, which says nothing about its result. */
export type Severity = 'ok' | 'unknown' | 'warn' | 'fail';

export interface DomainCheck {
  /** `own`, `dkim1`, `dkim2`, … in the order of the keys, then the other rows of the table. */
  id: string;
  severity: Severity;
  record: {
    /** Kind of record, or what else was checked. */
    type: 'TXT' | 'MX' | 'CNAME' | 'A' | 'PTR' | 'TLS' | 'SMTP' | 'HOST';
    name: string;
    /** '' if nothing in particular is expected. */
    expected: string;
    /** At most 10 texts of at most 512 characters. */
    found: string[];
  };
  /** What was found, in one or two sentences. */
  message: string;
  /** What to do; '' if nothing. */
  fix: string;
  /** The domain's mail is not sent until this is ok. */
  blocks?: true;
  /** Only of `align`; absent in results that are older than it. */
  alignment?: Alignment;
}

/** Which names of a message belong to the organisation of its From address, as DMARC compares them. */
export interface Alignment {
  /** `found`: the record of the active key is published. */
  dkim: { domain: string; strict: boolean; aligns: boolean; found: boolean };
  returnPath: { host: string; strict: boolean; aligns: boolean };
}

/** One finding about a record. */
export interface Finding {
  severity: Severity;
  message: string;
  fix: string;
}

const MAX_FOUND = 10;
const MAX_FOUND_LENGTH = 512;
/** Findings per record that are shown; more would not be read. */
const MAX_TOLD = 4;
const RANK = { ok: 0, unknown: 1, warn: 2, fail: 3 } as const;
// C0, DEL, C1, line and paragraph separators, and characters that change the direction of text.
const UNSHOWABLE = /[\p{Cc}\p{Cs}\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/gu;

/** `given` without characters that must not be shown. */
export function showable(given: string): string {
  const clean = given.slice(0, 2 * MAX_FOUND_LENGTH).replace(UNSHOWABLE, '');
  return clean.length <= MAX_FOUND_LENGTH ? clean : `${clean.slice(0, MAX_FOUND_LENGTH - 1)}…`;
}

/** The texts of a record as a check shows them. */
export function shownTexts(texts: readonly string[]): string[] {
  return texts.slice(0, MAX_FOUND).map(showable);
}

/** A check to which findings are added. */
export interface OpenCheck {
  fail(message: string, fix: string): void;
  warn(message: string, fix: string): void;
  unknown(message: string, fix: string): void;
  /** The look-up of `name` failed. */
  unanswered(name: string, reason: DnsFailureReason): void;
  add(findings: readonly Finding[]): void;
  /** The check of all findings, the worst first; `fine` is the message if there are none. */
  done(fine?: string): DomainCheck;
}

/** Begins the check of one record. `found` may grow until it is done. */
export function openCheck(
  id: string,
  type: DomainCheck['record']['type'],
  name: string,
  { expected = '', found = [] }: { expected?: string; found?: readonly string[] } = {},
): OpenCheck {
  const findings: Finding[] = [];
  const adds = (severity: Severity) => (message: string, fix: string) =>
    void findings.push({ severity, message, fix });
  return {
    fail: adds('fail'),
    warn: adds('warn'),
    unknown: adds('unknown'),
    unanswered: (host, reason) => void findings.push(unanswered(host, reason)),
    add: (more) => void findings.push(...more),
    done(fine = '') {
      const record = { type, name, expected, found: shownTexts(found) };
      const told = findings.sort((a, b) => RANK[b.severity] - RANK[a.severity]).slice(0, MAX_TOLD);
      const [worst] = told;
      if (worst === undefined) return { id, severity: 'ok', record, message: fine, fix: '' };
      const sentences = (texts: readonly string[]) =>
        [...new Set(texts.filter((text) => text !== ''))].join(' ');
      return {
        id,
        severity: worst.severity,
        record,
        message: sentences(told.map(({ message }) => message)),
        fix: sentences(told.map(({ fix }) => fix)),
      };
    },
  };
}

const FAILURES: Record<DnsFailureReason, string> = {
  timeout: 'no name server answered in time',
  servfail: 'the name servers reported a failure of their own (SERVFAIL)',
  refused: 'the name servers refused the question',
  denied: 'the resolver of this server denies every domain',
  malformed: 'the answer could not be read',
  network: 'the resolver could not be reached',
  local: 'this server could not ask (its log says why)',
};

/** The finding for a record that could not be looked up. */
export function unanswered(name: string, reason: DnsFailureReason): Finding {
  return {
    severity: 'unknown',
    message: `The look-up of ${showable(name)} failed for now: ${FAILURES[reason]}.`,
    fix: 'This says nothing about the record and changes nothing. Check again in some minutes. If it stays so, look at the name servers (and DNSSEC) of the domain and at the resolver of this server.',
  };
}
