/**
 * DMARC aggregate reports (RFC 9990; RFC 7489 Appendix C before it): an XML document, compressed by gzip or zip or not,
 * attached to a mail. Takes a parsed MIME message; returns what the report says, or why it cannot be read. Anybody can
 * send one, so everything is limited: octets of the document, records, names in a record; the document is read in steps. It
 * is no evidence of anything but that its sender wrote it.
 */
import { isUtf8 } from 'node:buffer';
import { isIP } from 'node:net';
import { promisify } from 'node:util';
import { gunzip, inflateRaw } from 'node:zlib';
import { plainIp, shortestIpv6 } from '../lib/loopback.ts';
import { inTurns, type Turn } from '../lib/turns.ts';
import { domainOfAddress } from './address-text.ts';
import { textIn } from './decode-words.ts';
import { bodyOf, type MimePart, ownParts } from './mime-tree.ts';
import { readXmlInSteps, Unreadable, type XmlReader } from './simple-xml.ts';

/** Mail of one source, with one result. */
export interface DmarcRecord {
  sourceIp: string;
  messages: number;
  disposition: 'none' | 'quarantine' | 'reject';
  /** Passed and aligned with the From address. */
  dkim: boolean;
  spf: boolean;
  /** Domain of the From address, lower case. */
  headerFrom: string;
  /** Why the receiver did not apply the policy: `forwarded`, `mailing_list`, …; '' = not said. */
  reason: string;
  /** At most three. */
  signatures: readonly AuthResult[];
  spfResult: AuthResult | null;
}

/** What the check of one signature or of SPF found; '' = not said. */
export interface AuthResult {
  domain: string;
  selector: string;
  result: string;
}

export interface AggregateReport {
  /** The organisation that made it, as it names itself; never empty. */
  reporter: string;
  reportId: string;
  beginAt: number;
  endAt: number;
  /** The domain whose policy it is about, lower case. */
  domain: string;
  records: readonly DmarcRecord[];
}

export type DmarcReading = { ok: true; report: AggregateReport } | { ok: false; why: string };

/** Octets of the documents of one mail. */
const MAX_DOCUMENT_BYTES = 8 * 1024 * 1024;
/** Steps in which they are read: 600,000 tags. The largest report that is taken has 400,000. */
const MAX_STEPS = 1_200;
const MAX_ATTACHMENT_BYTES = 2 * 1024 * 1024;
/** Attachments that may be a report. */
const MAX_TRIED = 3;
const MAX_RECORDS = 10_000;
const MAX_SIGNATURES = 3;
const MAX_DEPTH = 12;
const MAX_TEXT_CHARS = 1_000;
const MAX_MESSAGES = 100_000_000;
/** 9999-12-31, in seconds: a later time is none. */
const MAX_SECONDS = 253_402_300_799;

const DOMAIN = /^(?=.{1,253}$)[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63}){1,20}$/;
const WORD = /^[a-z0-9_.-]{1,63}$/;
const DISPOSITIONS = ['none', 'quarantine', 'reject'] as const;

const unzipGzip = promisify(gunzip);
const inflate = promisify(inflateRaw);

/** What may still be read of a mail. */
interface Left {
  bytes: number;
  steps: number;
}

/**
 * Reads the report that is attached to `mail`: the first of its attachments that is one. A text in XHTML or a picture in XML
 * may stand before it.
 */
export async function readDmarcReport(mail: MimePart, turn: Turn): Promise<DmarcReading> {
  const failures: DmarcReading[] = [];
  const left: Left = { bytes: MAX_DOCUMENT_BYTES, steps: MAX_STEPS };
  for (const part of ownParts(mail)) {
    if (failures.length >= MAX_TRIED || left.bytes <= 0 || left.steps <= 0) break;
    const bytes = part.parts.length > 0 ? null : bodyOf(part, MAX_ATTACHMENT_BYTES);
    if (bytes === null || !mayBeReport(part, bytes)) continue;
    const document = await unpack(bytes, left.bytes);
    if (typeof document !== 'string') left.bytes -= document.length;
    const reading: DmarcReading =
      typeof document === 'string' ? { ok: false, why: document } : await readDocument(document, left, turn);
    if (reading.ok) return reading;
    failures.push(reading);
  }
  return failures.at(-1) ?? { ok: false, why: 'no attachment is a DMARC report' };
}

function mayBeReport({ type }: MimePart, bytes: Buffer): boolean {
  if (isGzip(bytes) || isZip(bytes)) return true;
  return /xml$/.test(type) || /^\ufeff?\s*<(?:\?xml|feedback)/.test(textOf(bytes.subarray(0, 128)));
}

function isGzip(bytes: Buffer): boolean {
  return bytes.length > 18 && bytes.readUInt16BE(0) === 0x1f8b;
}

function isZip(bytes: Buffer): boolean {
  return bytes.length > 22 && bytes.readUInt32LE(0) === ZIP.local;
}

/** The document of at most `maxOutputLength` octets, or why there is none. */
async function unpack(bytes: Buffer, maxOutputLength: number): Promise<Buffer | string> {
  const limit = { maxOutputLength };
  try {
    if (isGzip(bytes)) return await unzipGzip(bytes, limit);
    if (!isZip(bytes)) return bytes;
    const entry = firstOfZip(bytes);
    if (entry === null) return 'its zip file is damaged or of an unknown kind';
    return entry.deflated ? await inflate(entry.bytes, limit) : entry.bytes;
  } catch (err) {
    const tooLarge = (err as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE';
    return tooLarge ? `it has more than ${MAX_DOCUMENT_BYTES} octets` : 'its attachment is damaged';
  }
}

/** Signatures of the records of a zip file (APPNOTE.TXT §4.3.7, §4.3.12, §4.3.16). */
const ZIP = { local: 0x04034b50, central: 0x02014b50, end: 0x06054b50 };
const ZIP_END_BYTES = 22;
const ZIP_CENTRAL_BYTES = 46;
/** Ends the name of a folder. */
const SLASH = 0x2f;
const STORED = 0;
const DEFLATED = 8;

/**
 * The first file of a zip file, as its directory describes it: what stands before the file itself may leave out its size. Folders
 * are passed over.
 */
function firstOfZip(bytes: Buffer): { bytes: Buffer; deflated: boolean } | null {
  const least = Math.max(0, bytes.length - ZIP_END_BYTES - 0xffff);
  let end = bytes.length - ZIP_END_BYTES;
  while (end >= least && bytes.readUInt32LE(end) !== ZIP.end) end -= 1;
  if (end < least) return null;
  let central = bytes.readUInt32LE(end + 16);
  for (;;) {
    if (central + ZIP_CENTRAL_BYTES > bytes.length || bytes.readUInt32LE(central) !== ZIP.central)
      return null;
    const nameEnd = central + ZIP_CENTRAL_BYTES + bytes.readUInt16LE(central + 28);
    if (nameEnd > bytes.length) return null;
    if (bytes[nameEnd - 1] !== SLASH) break;
    central = nameEnd + bytes.readUInt16LE(central + 30) + bytes.readUInt16LE(central + 32);
  }
  const method = bytes.readUInt16LE(central + 10);
  const size = bytes.readUInt32LE(central + 20);
  const local = bytes.readUInt32LE(central + 42);
  if (local + 30 > bytes.length || bytes.readUInt32LE(local) !== ZIP.local) return null;
  const start = local + 30 + bytes.readUInt16LE(local + 26) + bytes.readUInt16LE(local + 28);
  if (start + size > bytes.length || (method !== STORED && method !== DEFLATED)) return null;
  return { bytes: bytes.subarray(start, start + size), deflated: method === DEFLATED };
}

/**
 * A document as text: UTF-16 by its first octets (XML 1.0 Appendix F), otherwise UTF-8 where it is that, whatever it says of
 * itself, or else in the charset that it names.
 */
function textOf(bytes: Buffer): string {
  const [first = 0, second = 0] = bytes;
  if ((first === 0xff && second === 0xfe) || (first === 0x3c && second === 0))
    return textIn('utf-16le', bytes) ?? '';
  if ((first === 0xfe && second === 0xff) || (first === 0 && second === 0x3c))
    return textIn('utf-16be', bytes) ?? '';
  const named = isUtf8(bytes) ? null : ENCODING.exec(bytes.toString('latin1', 0, 200))?.[1];
  return (named ? textIn(named.toLowerCase(), bytes) : null) ?? bytes.toString('utf8');
}

const ENCODING = /^\s*<\?xml\s[^>]{0,100}\bencoding\s{0,9}=\s{0,9}["']([\w.:-]{1,40})["']/i;

// ── the document ──────────────────────────────────────────────────────────────────────────────────────────

type OpenRecord = { -readonly [Key in keyof DmarcRecord]: DmarcRecord[Key] } & { signatures: AuthResult[] };

/** Names of elements are compared without their prefix and in lower case. */
async function readDocument(bytes: Buffer, left: Left, turn: Turn): Promise<DmarcReading> {
  const about = new Map<string, string>();
  const records: DmarcRecord[] = [];
  /** Of each open element the names from the first one to it. */
  const paths: string[] = [];
  let record: OpenRecord | null = null;
  let result: AuthResult | null = null;
  let text = '';

  const reader: XmlReader = {
    begin(written) {
      const above = paths.at(-1);
      const at = above === undefined ? localName(written) : `${above}/${localName(written)}`;
      paths.push(at);
      text = '';
      if (above === undefined && at !== 'feedback') throw new Unreadable('its document is no DMARC report');
      if (paths.length > MAX_DEPTH) throw new Unreadable('its document is nested too deeply');
      if (at === 'feedback/record') record = emptyRecord();
      else if (AUTH_RESULTS.has(at)) result = { domain: '', selector: '', result: '' };
      if (records.length >= MAX_RECORDS) throw new Unreadable(`it has more than ${MAX_RECORDS} records`);
    },
    text(part) {
      if (text.length < MAX_TEXT_CHARS) text += part.slice(0, MAX_TEXT_CHARS);
    },
    end() {
      const at = paths.pop() ?? '';
      const value = text.trim();
      text = '';
      if (record !== null) endInRecord(record, at, value);
      else if (ABOUT.has(at) && !about.has(at)) about.set(at, value);
    },
  };

  try {
    await inTurns(readXmlInSteps(textOf(bytes), reader), () => {
      left.steps -= 1;
      if (left.steps <= 0) throw new Unreadable('it has too many elements');
      return turn();
    });
  } catch (err) {
    if (err instanceof Unreadable) return { ok: false, why: err.message };
    throw err;
  }
  return reportOf(about, records);

  function endInRecord(open: OpenRecord, at: string, value: string): void {
    if (at === 'feedback/record') {
      if (open.sourceIp !== '' && open.messages > 0 && open.headerFrom !== '') records.push(open);
      record = null;
    } else if (result === null) FIELDS[at]?.(open, value);
    else if (AUTH_RESULTS.has(at)) {
      if (at.endsWith('/spf')) open.spfResult ??= result;
      else if (open.signatures.length < MAX_SIGNATURES) open.signatures.push(result);
      result = null;
    } else if (at.endsWith('/domain')) result.domain ||= domainOf(value);
    else if (at.endsWith('/selector')) result.selector ||= wordOf(value);
    else if (at.endsWith('/result')) result.result ||= wordOf(value);
  }
}

const METADATA = 'feedback/report_metadata';
const PUBLISHED_DOMAIN = 'feedback/policy_published/domain';
const ABOUT: ReadonlySet<string> = new Set([
  `${METADATA}/org_name`,
  `${METADATA}/email`,
  `${METADATA}/report_id`,
  `${METADATA}/date_range/begin`,
  `${METADATA}/date_range/end`,
  PUBLISHED_DOMAIN,
]);
const ROW = 'feedback/record/row';
const AUTH_RESULTS: ReadonlySet<string> = new Set([
  'feedback/record/auth_results/dkim',
  'feedback/record/auth_results/spf',
]);

/** What each element of a record sets. */
const FIELDS: Readonly<Record<string, (record: OpenRecord, value: string) => void>> = {
  [`${ROW}/source_ip`]: (record, value) => {
    const ip = plainIp(value.toLowerCase());
    const family = ip.includes('%') ? 0 : isIP(ip);
    record.sourceIp = family === 0 ? '' : family === 4 ? ip : shortestIpv6(ip);
  },
  [`${ROW}/count`]: (record, value) => {
    record.messages = /^\d{1,10}$/.test(value) ? Math.min(Number(value), MAX_MESSAGES) : 0;
  },
  [`${ROW}/policy_evaluated/disposition`]: (record, value) => {
    // RFC 9990 adds `pass`, which says that there was no reason to apply a policy.
    record.disposition = DISPOSITIONS.find((one) => one === value.toLowerCase()) ?? 'none';
  },
  [`${ROW}/policy_evaluated/dkim`]: (record, value) => {
    record.dkim = value.toLowerCase() === 'pass';
  },
  [`${ROW}/policy_evaluated/spf`]: (record, value) => {
    record.spf = value.toLowerCase() === 'pass';
  },
  [`${ROW}/policy_evaluated/reason/type`]: (record, value) => {
    if (record.reason === '') record.reason = wordOf(value);
  },
  'feedback/record/identifiers/header_from': setHeaderFrom,
  // As the first draft of the format named it.
  'feedback/record/identities/header_from': setHeaderFrom,
};

function setHeaderFrom(record: OpenRecord, value: string): void {
  record.headerFrom = domainOf(value);
}

function emptyRecord(): OpenRecord {
  return {
    ...{
      sourceIp: '',
      messages: 0,
      disposition: 'none',
      dkim: false,
      spf: false,
      headerFrom: '',
      reason: '',
    },
    ...{ signatures: [], spfResult: null },
  };
}

function reportOf(about: ReadonlyMap<string, string>, records: readonly DmarcRecord[]): DmarcReading {
  const domain = domainOf(about.get(PUBLISHED_DOMAIN) ?? '');
  const reporter = about.get(`${METADATA}/org_name`) || domainOfAddress(about.get(`${METADATA}/email`) ?? '');
  const reportId = about.get(`${METADATA}/report_id`) ?? '';
  const beginAt = timeOf(about.get(`${METADATA}/date_range/begin`));
  const endAt = timeOf(about.get(`${METADATA}/date_range/end`));
  if (domain === '' || reporter === '' || reportId === '' || beginAt === null || endAt === null)
    return { ok: false, why: 'its document names no reporter, id, domain or time' };
  if (endAt < beginAt) return { ok: false, why: 'the time of its document ends before it begins' };
  const names = { reporter: reporter.slice(0, 100), reportId: reportId.slice(0, 255) };
  return { ok: true, report: { ...names, beginAt, endAt, domain, records } };
}

/** Seconds since 1970 as ms, some with a fraction, which says nothing; null: no time. */
function timeOf(value: string | undefined): number | null {
  const seconds = Number(/^(\d{1,12})(?:\.\d{1,9})?$/.exec(value ?? '')?.[1] ?? Number.NaN);
  return seconds <= MAX_SECONDS ? seconds * 1000 : null;
}

function domainOf(value: string): string {
  const domain = value.toLowerCase().replace(/\.$/, '');
  return DOMAIN.test(domain) ? domain : '';
}

function wordOf(value: string): string {
  const word = value.toLowerCase();
  return WORD.test(word) ? word : '';
}

function localName(name: string): string {
  return name.slice(name.indexOf(':') + 1).toLowerCase();
}
