/**
 * GET /domains/{name}/dmarc: what receivers counted of the mail in the name of a sender domain, by where it came from. Reports
 * are read a page at a time, newest first, and added up; what they do not name, and what is too much to show, is one source.
 */
import { z } from 'zod';
import type { DmarcCount, DmarcReport } from '../../../model/dmarc-report.ts';
import { type Answer, count, time } from '../answer-schemas.ts';
import type { ApiParts } from '../deps.ts';
import { looksOf, mayLook } from '../looks.ts';
import { operation } from '../operation.ts';
import { integer } from '../query.ts';
import { type ApiRoute, isoTime } from '../route.ts';
import { ownDomain } from './domains.ts';

const figures = {
  Messages: count,
  Passed: count.describe('By DKIM or SPF'),
  DKIM: count.describe('With a valid signature that is aligned with the From address'),
  SPF: count.describe('From a permitted address, aligned with the From address'),
  Quarantined: count,
  Rejected: count,
};

const source = z
  .object({
    Address: z.string().nullable().describe('null: those that are not shown, together'),
    Own: z.boolean().describe('An address that this server sends from'),
    ...figures,
    From: z.array(z.string()).describe('Domains of From addresses, at most five'),
    Found: z
      .array(z.object({ Text: z.string(), Messages: count }))
      .describe(
        'Of mail that did not pass both: what the receiver found, as in an Authentication-Results field; the five most frequent',
      ),
    Reporters: z.array(z.string()).describe('Who saw it, at most five'),
    LastAt: time.describe('End of the last report that names it'),
  })
  .meta({ id: 'DmarcSource' });

const reporter = z
  .object({
    Name: z.string().describe('As it calls itself'),
    SignedBy: z
      .string()
      .nullable()
      .describe('Domain of the valid signatures of its reports; null: none, anybody may have written them'),
    Reports: count,
    Messages: count,
    LastAt: time,
  })
  .meta({ id: 'DmarcReporter' });

const dmarcAnswer = z
  .object({
    Domain: z.string(),
    Since: time.describe('Reports that arrived since then'),
    Reports: count,
    ...figures,
    Sources: z
      .array(source)
      .describe(
        'Those of this server first, then the largest in signed reports, then the others; at most 100',
      ),
    Reporters: z.array(reporter).describe('Those that sign first, then the largest; at most 100'),
    Complete: z
      .boolean()
      .describe('false: there are more reports than one request reads, the oldest are missing'),
  })
  .meta({ id: 'DmarcSummary', description: 'What receivers counted, by DMARC aggregate reports' });

type DmarcAnswer = Answer<typeof dmarcAnswer>;

const DAY_MS = 86_400_000;
/** Reports read at once. */
const PAGE = 100;
const MAX_SHOWN = 100;
const MAX_LISTED = 5;
/** Sources, and reporters, that are told apart; and those that reports without a signature may add. */
const MAX_APART = 2_000;
const MAX_UNSIGNED = 1_000;
/** Texts of what was found, for each source. */
const MAX_FOUND = 20;

interface Figures {
  messages: number;
  passed: number;
  dkim: number;
  spf: number;
  quarantined: number;
  rejected: number;
}

interface Source extends Figures {
  address: string;
  /** Messages in reports that are signed. */
  signed: number;
  from: Set<string>;
  found: Map<string, number>;
  reporters: Set<string>;
  lastAt: number;
}

interface Reporter {
  name: string;
  signedBy: string;
  reports: number;
  messages: number;
  lastAt: number;
}

export function dmarcOperation({ store, domains, doctor, clock }: ApiParts): ApiRoute {
  return operation('GET /domains/:name/dmarc', {
    id: 'getDmarc',
    scope: 'domains:read',
    summary: 'Show what DMARC reports say of a domain',
    description:
      'Mail in the name of the domain that receivers counted in their aggregate reports (RFC 9990) of the last `Days` (30): `{Messages, Passed, Sources: [{Address, Own, Messages, Passed, DKIM, SPF, Found}], Reporters}`. Reports come where the domain’s DMARC record has `rua=mailto:dmarc@` a host of this server for bounces. Kept for 90 days. Anybody can send such reports: `SignedBy` says whose they are',
    query: { Days: integer(1, 90).default(30) },
    answer: dmarcAnswer,
    handle: async ({ caller, params, query, request }) => {
      const { name } = await ownDomain(domains, caller, params.name);
      const since = clock.now() - query.Days * DAY_MS;
      const own = new Set(await doctor.sendingAddresses());
      const sums = createSums(own);
      const looks = looksOf(request);
      let before: { receivedAt: number; id: number } | null | undefined;
      while (before !== null && mayLook(looks)) {
        const reports = await store.listDmarcReports({ domain: name, since, before, limit: PAGE });
        for (const report of reports) sums.add(report);
        before = reports.length < PAGE ? null : (reports.at(-1) ?? null);
      }
      return { Domain: name, Since: isoTime(since), ...sums.answer(), Complete: before === null };
    },
  });
}

/**
 * Anybody can send reports without a signature, so what they name stands behind what signed ones name, and takes no place of
 * it. `own`: addresses of this server, which always have theirs.
 */
function createSums(own: ReadonlySet<string>) {
  const all = noFigures();
  const sources = new Map<string, Source>();
  const reporters = new Map<string, Reporter>();
  let reports = 0;

  return {
    add({ reporter: name, signedBy, endAt, receivedAt, counts }: DmarcReport): void {
      reports += 1;
      // No report is about a time after it came.
      const at = Math.min(endAt, receivedAt);
      const most = signedBy === '' ? MAX_UNSIGNED : MAX_APART;
      const by = apart(reporters, `${signedBy}\n${name}`, most, (key) => ({
        ...(key === '' ? { name: 'others', signedBy: '' } : { name, signedBy }),
        ...{ reports: 0, messages: 0, lastAt: 0 },
      }));
      by.reports += 1;
      by.lastAt = Math.max(by.lastAt, at);
      for (const one of counts) {
        by.messages += one.messages;
        addTo(all, one);
        const mostSources = own.has(one.source) ? Number.POSITIVE_INFINITY : most;
        const from = apart(sources, one.source, mostSources, (address) => ({
          ...{ address, ...noFigures(), signed: 0, lastAt: 0 },
          ...{ from: new Set<string>(), found: new Map<string, number>(), reporters: new Set<string>() },
        }));
        addTo(from, one);
        if (signedBy !== '') from.signed += one.messages;
        from.lastAt = Math.max(from.lastAt, at);
        if (from.reporters.size < MAX_LISTED) from.reporters.add(name);
        if (one.from !== '' && from.from.size < MAX_LISTED) from.from.add(one.from);
        if (one.found !== '' && (from.found.has(one.found) || from.found.size < MAX_FOUND))
          from.found.set(one.found, (from.found.get(one.found) ?? 0) + one.messages);
      }
    },
    answer: (): Omit<DmarcAnswer, 'Domain' | 'Since' | 'Complete'> => ({
      Reports: reports,
      ...shown(all),
      Sources: shownSources([...sources.values()], own),
      Reporters: [...reporters.values()]
        .sort((a, b) => Number(b.signedBy !== '') - Number(a.signedBy !== '') || b.messages - a.messages)
        .slice(0, MAX_SHOWN)
        .map((one) => ({
          Name: one.name,
          SignedBy: one.signedBy === '' ? null : one.signedBy,
          Reports: one.reports,
          Messages: one.messages,
          LastAt: isoTime(one.lastAt),
        })),
    }),
  };
}

function noFigures(): Figures {
  return { messages: 0, passed: 0, dkim: 0, spf: 0, quarantined: 0, rejected: 0 };
}

/** The entry of a key; where there are `most` already, that of the empty one. */
function apart<Entry>(
  entries: Map<string, Entry>,
  key: string,
  most: number,
  make: (key: string) => Entry,
): Entry {
  const at = entries.has(key) || entries.size < most ? key : '';
  const known = entries.get(at);
  if (known !== undefined) return known;
  const entry = make(at);
  entries.set(at, entry);
  return entry;
}

function addTo(sums: Figures, { messages, dkim, spf, disposition }: DmarcCount): void {
  sums.messages += messages;
  if (dkim || spf) sums.passed += messages;
  if (dkim) sums.dkim += messages;
  if (spf) sums.spf += messages;
  if (disposition === 'quarantine') sums.quarantined += messages;
  if (disposition === 'reject') sums.rejected += messages;
}

function shownSources(all: Source[], own: ReadonlySet<string>): DmarcAnswer['Sources'] {
  const order = (a: Source, b: Source) =>
    Number(own.has(b.address)) - Number(own.has(a.address)) || b.signed - a.signed || b.messages - a.messages;
  const named = all.filter(({ address }) => address !== '').sort(order);
  const rest = [...all.filter(({ address }) => address === ''), ...named.slice(MAX_SHOWN - 1)];
  return [...named.slice(0, MAX_SHOWN - 1), ...(rest.length === 0 ? [] : [together(rest)])].map((one) => ({
    Address: one.address === '' ? null : one.address,
    Own: own.has(one.address),
    ...shown(one),
    From: [...one.from],
    Found: [...one.found]
      .sort(([, a], [, b]) => b - a)
      .slice(0, MAX_LISTED)
      .map(([Text, Messages]) => ({ Text, Messages })),
    Reporters: [...one.reporters],
    LastAt: isoTime(one.lastAt),
  }));
}

function together(sources: readonly Source[]): Source {
  const sum: Source = {
    ...{ address: '', ...noFigures(), signed: 0, lastAt: 0 },
    ...{ from: new Set(), found: new Map(), reporters: new Set() },
  };
  for (const one of sources) {
    for (const figure of Object.keys(noFigures()) as (keyof Figures)[]) sum[figure] += one[figure];
    sum.lastAt = Math.max(sum.lastAt, one.lastAt);
  }
  return sum;
}

function shown(sums: Figures): Pick<DmarcAnswer, keyof typeof figures> {
  return {
    Messages: sums.messages,
    Passed: sums.passed,
    DKIM: sums.dkim,
    SPF: sums.spf,
    Quarantined: sums.quarantined,
    Rejected: sums.rejected,
  };
}
