/**
 * Stores what a DMARC aggregate report says about sender domains. Takes a received mail; each sender domain gets the
 * records of its own names and of names below it that are no sender domains themselves, and nothing of others. Anybody can
 * send such a report: it changes no mail, each domain takes a limited number a day, and it is stored whose signature it has.
 */
import type { Clock } from '../../lib/clock.ts';
import type { Turn } from '../../lib/turns.ts';
import { isAtOrBelow, namesUpFrom } from '../../mail/address-text.ts';
import { type AggregateReport, type DmarcRecord, readDmarcReport } from '../../mail/dmarc-report.ts';
import type { MimePart } from '../../mail/mime-tree.ts';
import type { DmarcCount } from '../../model/dmarc-report.ts';
import type { Store } from '../../store/store.ts';

interface Deps {
  store: Pick<Store, 'getDomain' | 'addDmarcReport'>;
  clock: Pick<Clock, 'now'>;
}

interface ReportMail {
  mime: MimePart;
  /** Domain of a valid signature that is aligned with the sender; '' = none. */
  signedBy(): Promise<string>;
  turn: Turn;
}

const DAY_MS = 86_400_000;
/** Reports about one sender domain in a day: of one signer, which may be nobody, and of all. Large receivers send one a day. */
const MAX_OF_SIGNER = 100;
const MAX_OF_ALL = 1_000;
/** Rows of one report about one domain; what else it has is added up. */
const MAX_COUNTS = 200;
/** Names of From addresses in one report whose sender domain is looked up. */
const MAX_NAMES = 50;
const MAX_FOUND_CHARS = 200;

/** null: it was stored, or was known already; otherwise why it was not. */
export async function takeDmarcReport({ store, clock }: Deps, mail: ReportMail): Promise<string | null> {
  const read = await readDmarcReport(mail.mime, mail.turn);
  if (!read.ok) return `a DMARC report that cannot be read: ${read.why}`;
  const { records, domain, ...about } = read.report;
  const bySender = await recordsOfSenders(read.report);
  const aboutNobody = `a DMARC report about ${domain}: no record is about a verified sender domain here`;
  if (bySender.size === 0) return aboutNobody;
  const signedBy = await mail.signedBy();
  const receivedAt = clock.now();
  const results = new Set<string>();
  for (const [name, own] of bySender) {
    await mail.turn();
    const result = await store.addDmarcReport({
      domain: name,
      report: { ...about, signedBy, receivedAt, counts: countsOf(own) },
      recentSince: receivedAt - DAY_MS,
      maxOfSigner: MAX_OF_SIGNER,
      maxOfAll: MAX_OF_ALL,
    });
    results.add(result);
  }
  if (results.has('added') || results.has('known')) return null;
  if (!results.has('full')) return aboutNobody;
  const signer = signedBy === '' ? 'without a valid signature' : `signed by ${signedBy}`;
  return `a DMARC report about ${domain} (${signer}): as many as one sender may send in a day have come`;

  async function recordsOfSenders(report: AggregateReport): Promise<Map<string, DmarcRecord[]>> {
    const senders = new Map<string, string | null>();
    const found = new Map<string, DmarcRecord[]>();
    for (const record of report.records) {
      const { headerFrom } = record;
      if (!isAtOrBelow(headerFrom, report.domain)) continue;
      let sender = senders.get(headerFrom);
      if (sender === undefined) {
        if (senders.size >= MAX_NAMES) continue;
        sender = await senderOf(headerFrom);
        senders.set(headerFrom, sender);
      }
      if (sender === null) continue;
      const own = found.get(sender);
      if (own === undefined) found.set(sender, [record]);
      else own.push(record);
    }
    return found;
  }

  /**
   * The nearest sender domain at or above a name. One that is not verified does not count, or another tenant could take the
   * reports by adding it.
   */
  async function senderOf(headerFrom: string): Promise<string | null> {
    for (const name of namesUpFrom(headerFrom)) {
      const sender = await store.getDomain({ name });
      if (sender !== null && sender.status !== 'Pending') return name;
    }
    return null;
  }
}

/** Those with the same result are one row. The largest stay, the rest becomes one row for each result. */
function countsOf(records: readonly DmarcRecord[]): DmarcCount[] {
  const rows = added(records.map(countOf)).sort((a, b) => b.messages - a.messages);
  if (rows.length <= MAX_COUNTS) return rows;
  const rest = rows.slice(MAX_COUNTS).map((row) => ({ ...row, source: '', from: '', found: '' }));
  return [...rows.slice(0, MAX_COUNTS), ...added(rest)];
}

function added(rows: readonly DmarcCount[]): DmarcCount[] {
  const byResult = new Map<string, DmarcCount>();
  for (const row of rows) {
    const { messages, ...result } = row;
    const key = JSON.stringify(result);
    const known = byResult.get(key);
    if (known === undefined) byResult.set(key, { ...row });
    else known.messages += messages;
  }
  return [...byResult.values()];
}

function countOf(record: DmarcRecord): DmarcCount {
  const { sourceIp, messages, dkim, spf, disposition, headerFrom } = record;
  return { source: sourceIp, messages, dkim, spf, disposition, from: headerFrom, found: foundOf(record) };
}

/** As in the Authentication-Results field of RFC 8601; names are known to be plain. */
function foundOf({ dkim, spf, signatures, spfResult, reason }: DmarcRecord): string {
  if (dkim && spf) return '';
  const said = [
    ...signatures.map(({ domain, selector, result }) => ({ method: 'dkim', domain, selector, result })),
    ...(spfResult === null ? [] : [{ method: 'spf', ...spfResult, selector: '' }]),
  ].map(({ method, domain, selector, result }) =>
    [`${method}=${result}`, domain && `d=${domain}`, selector && `s=${selector}`].filter(Boolean).join(' '),
  );
  return [...said, ...(reason === '' ? [] : [`reason=${reason}`])].join('; ').slice(0, MAX_FOUND_CHARS);
}
