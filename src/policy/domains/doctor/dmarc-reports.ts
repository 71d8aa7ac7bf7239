/**
 * What receivers report of a domain's mail (DMARC), as a check: whether mail from this server's own addresses passes. Only
 * reports with a valid signature count. Pure.
 */
import type { DmarcReport } from '../../../model/dmarc-report.ts';
import { type DomainCheck, openCheck } from './check.ts';

/** Mail of one source, in all reports. */
export interface ReportedSource {
  address: string;
  messages: number;
  /** Of these, without DKIM and SPF. */
  failed: number;
  /** What the receivers found of those, the most frequent; '' = they did not say. */
  found: string;
}

/** Fewer may be a forwarder's doing, or somebody's mistake. */
const FEW = 10;
const SMALL_SHARE = 0.02;

/** By source, of reports that somebody signed. */
export function reportedSources(reports: readonly DmarcReport[]): ReportedSource[] {
  const sources = new Map<string, { messages: number; failed: number; found: Map<string, number> }>();
  for (const { counts } of reports.filter(({ signedBy }) => signedBy !== '')) {
    for (const { source, messages, dkim, spf, found } of counts) {
      if (source === '') continue;
      const sum = sources.get(source) ?? { messages: 0, failed: 0, found: new Map<string, number>() };
      sources.set(source, sum);
      sum.messages += messages;
      if (dkim || spf) continue;
      sum.failed += messages;
      sum.found.set(found, (sum.found.get(found) ?? 0) + messages);
    }
  }
  return [...sources].map(([address, { messages, failed, found }]) => {
    const [most] = [...found].sort(([, a], [, b]) => b - a);
    return { address, messages, failed, found: most?.[0] ?? '' };
  });
}

/** null: nobody reported mail from one of these addresses. */
export function judgeReports(
  domain: string,
  sources: readonly ReportedSource[],
  addresses: readonly string[],
): DomainCheck | null {
  const own = sources.filter(({ address }) => addresses.includes(address));
  if (own.length === 0) return null;
  const failing = own.filter(({ messages, failed }) => failed >= FEW && failed >= SMALL_SHARE * messages);
  const found = own.map(
    ({ address, messages, failed }) => `${address}: ${messages - failed} of ${messages} passed`,
  );
  const check = openCheck('reports', 'HOST', domain, { found });
  for (const { address, messages, failed, found: what } of failing) {
    const why = what === '' ? '' : ` (${what})`;
    check.warn(
      `Receivers report that ${failed} of ${messages} messages from ${address} failed DMARC in the last 7 days${why}.`,
      `See who reported it: postrider domain dmarc ${domain}`,
    );
  }
  const total = own.reduce((sum, { messages }) => sum + messages, 0);
  return check.done(
    `Receivers reported ${total} messages from this server in the last 7 days; they pass DMARC.`,
  );
}
