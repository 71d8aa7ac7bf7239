/**
 * Encodes DNS queries and decodes answers (RFC 1035 §4, EDNS0 RFC 6891, TLSA RFC 6698). Bytes from the network give a
 * decoded message or `malformed`. Input is hostile: every read checks its limits, every loop advances through at most
 * 64 KiB, nothing throws. A message with one invalid record is refused completely, because half an answer could lack
 * the preferred MX.
 */
import { encodeName, readName } from './dns-name.ts';
import { formatIp } from './ip-address.ts';

/** Record types that can be asked for, with their codes. */
export const recordTypes = {
  A: 1,
  NS: 2,
  CNAME: 5,
  SOA: 6,
  PTR: 12,
  MX: 15,
  TXT: 16,
  AAAA: 28,
  TLSA: 52,
  CAA: 257,
} as const;
export type RecordType = keyof typeof recordTypes;

export const responseCodes = {
  noError: 0,
  formatError: 1,
  serverFailure: 2,
  nameError: 3,
  notImplemented: 4,
  refused: 5,
};

/** The size announced for UDP answers: one packet without fragmentation everywhere (DNS flag day 2020). */
const UDP_PAYLOAD_BYTES = 1232;

/**
 * Of one message; more is refused. Compressed names make a record of 16 octets out of 500, and no real answer has so many.
 */
const MAX_RECORDS = 256;
const HEADER_BYTES = 12;
const OPT_TYPE = 41;
const CLASS_IN = 1;

/** One record. Names as in `dns-name.ts`; addresses in canonical form; TTL 0…2^31−1 (RFC 2181 §8). */
export type DnsRecord = { name: string; ttlSeconds: number } & DnsRecordData;

type DnsRecordData =
  | { type: 'A' | 'AAAA'; address: string }
  | { type: 'CNAME' | 'PTR' | 'NS'; target: string }
  | { type: 'MX'; preference: number; exchange: string }
  /** The character-strings joined, as UTF-8 with replacement. */
  | { type: 'TXT'; text: string }
  | { type: 'SOA'; minimumSeconds: number }
  /** Who may issue certificates for the name (RFC 8659); `tag` in lower case. */
  | { type: 'CAA'; tag: string; value: string }
  | { type: 'TLSA'; usage: number; selector: number; matching: number; data: Uint8Array }
  /** A type or class that is not used here; its data is not read. */
  | { type: 'OTHER'; code: number };

export interface DnsMessage {
  id: number;
  isResponse: boolean;
  authoritative: boolean;
  /** TC: the question must be repeated over TCP. The sections of a truncated message are left empty. */
  truncated: boolean;
  recursionAvailable: boolean;
  /** AD: the resolver says that it validated this answer. Trust it only as far as the network to the resolver. */
  authenticData: boolean;
  /** With the upper bits from EDNS if present. */
  responseCode: number;
  question: { name: string; typeCode: number; classCode: number } | undefined;
  answers: DnsRecord[];
  authority: DnsRecord[];
}

type DecodedMessage = { kind: 'message'; message: DnsMessage } | { kind: 'malformed'; detail: string };

/**
 * Query bytes for one question of class IN: recursion desired by default, AD set to get the AD bit in the answer (RFC
 * 6840 §5.7), an OPT record unless `edns` is false. Undefined if the name cannot be encoded.
 */
export function encodeQuery(query: {
  id: number;
  name: string;
  type: RecordType;
  edns: boolean;
  recursion?: boolean;
}): Uint8Array | undefined {
  const name = encodeName(query.name);
  if (!name) return undefined;
  const bytes = new Uint8Array(HEADER_BYTES + name.length + 4 + (query.edns ? 11 : 0));
  const view = new DataView(bytes.buffer);
  view.setUint16(0, query.id);
  view.setUint16(2, query.recursion === false ? 0x0020 : 0x0120);
  view.setUint16(4, 1);
  view.setUint16(10, query.edns ? 1 : 0);
  bytes.set(name, HEADER_BYTES);
  let at = HEADER_BYTES + name.length;
  view.setUint16(at, recordTypes[query.type]);
  view.setUint16(at + 2, CLASS_IN);
  if (query.edns) {
    // Root owner, OPT, our payload size; no extended code, version 0, no flags, no options.
    at += 5;
    view.setUint16(at, OPT_TYPE);
    view.setUint16(at + 2, UDP_PAYLOAD_BYTES);
  }
  return bytes;
}

/** Decodes any bytes; never throws. */
export function decodeMessage(bytes: Uint8Array): DecodedMessage {
  if (bytes.length < HEADER_BYTES) return malformed('shorter than a header');
  if (bytes.length > 65_535) return malformed('longer than a message can be');
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const flags = view.getUint16(2);
  const message: DnsMessage = {
    id: view.getUint16(0),
    isResponse: (flags & 0x8000) !== 0,
    authoritative: (flags & 0x0400) !== 0,
    truncated: (flags & 0x0200) !== 0,
    recursionAvailable: (flags & 0x0080) !== 0,
    authenticData: (flags & 0x0020) !== 0,
    responseCode: flags & 15,
    question: undefined,
    answers: [],
    authority: [],
  };
  if ((flags & 0x7800) !== 0) return malformed('not a standard query');
  const questions = view.getUint16(4);
  if (questions > 1) return malformed('more than one question');
  let at = HEADER_BYTES;
  if (questions === 1) {
    const name = readName(bytes, at);
    if (!name || name.next + 4 > bytes.length) return malformed('bad question');
    message.question = {
      name: name.name,
      typeCode: view.getUint16(name.next),
      classCode: view.getUint16(name.next + 2),
    };
    at = name.next + 4;
  }
  // A server may truncate the message anywhere, so nothing more is read.
  if (message.truncated) return { kind: 'message', message };
  const sections: [number, DnsRecord[] | undefined][] = [
    [view.getUint16(6), message.answers],
    [view.getUint16(8), message.authority],
    [view.getUint16(10), undefined],
  ];
  if (sections.reduce((sum, [count]) => sum + count, 0) > MAX_RECORDS) return malformed('too many records');
  for (const [count, into] of sections) {
    for (let i = 0; i < count; i++) {
      const read = readRecord(bytes, view, at);
      if (!read) return malformed('bad record');
      at = read.next;
      if (into) into.push(read.record);
      else if (read.record.type === 'OTHER' && read.record.code === OPT_TYPE) {
        message.responseCode |= view.getUint8(read.dataAt - 6) << 4;
      }
    }
  }
  return { kind: 'message', message };
}

function malformed(detail: string): DecodedMessage {
  return { kind: 'malformed', detail };
}

function readRecord(
  bytes: Uint8Array,
  view: DataView,
  offset: number,
): { record: DnsRecord; next: number; dataAt: number } | undefined {
  const owner = readName(bytes, offset);
  if (!owner || owner.next + 10 > bytes.length) return undefined;
  const typeCode = view.getUint16(owner.next);
  const classCode = view.getUint16(owner.next + 2);
  const rawTtl = view.getUint32(owner.next + 4);
  const dataAt = owner.next + 10;
  const next = dataAt + view.getUint16(owner.next + 8);
  if (next > bytes.length) return undefined;
  const data: DnsRecordData | undefined =
    classCode === CLASS_IN
      ? readData(typeCode, bytes, view, dataAt, next)
      : { type: 'OTHER', code: typeCode };
  if (!data) return undefined;
  // A TTL with the top bit set counts as zero (RFC 2181 §8).
  const ttlSeconds = rawTtl > 0x7fffffff ? 0 : rawTtl;
  return { record: { name: owner.name, ttlSeconds, ...data }, next, dataAt };
}

function readData(
  typeCode: number,
  bytes: Uint8Array,
  view: DataView,
  at: number,
  end: number,
): DnsRecordData | undefined {
  switch (typeCode) {
    case recordTypes.A:
      return end - at === 4 ? { type: 'A', address: formatIp(bytes.subarray(at, end)) } : undefined;
    case recordTypes.AAAA:
      return end - at === 16 ? { type: 'AAAA', address: formatIp(bytes.subarray(at, end)) } : undefined;
    case recordTypes.CNAME:
    case recordTypes.PTR:
    case recordTypes.NS: {
      const name = readName(bytes, at);
      if (name?.next !== end) return undefined;
      const type = typeCode === recordTypes.CNAME ? 'CNAME' : typeCode === recordTypes.PTR ? 'PTR' : 'NS';
      return { type, target: name.name };
    }
    case recordTypes.MX: {
      if (end - at < 3) return undefined;
      const name = readName(bytes, at + 2);
      if (name?.next !== end) return undefined;
      return { type: 'MX', preference: view.getUint16(at), exchange: name.name };
    }
    case recordTypes.TXT:
      return readText(bytes, at, end);
    case recordTypes.SOA: {
      const primary = readName(bytes, at);
      const mailbox = primary && readName(bytes, primary.next);
      if (!mailbox || mailbox.next + 20 !== end) return undefined;
      return { type: 'SOA', minimumSeconds: view.getUint32(mailbox.next + 16) };
    }
    case recordTypes.TLSA:
      if (end - at < 4) return undefined;
      return {
        type: 'TLSA',
        usage: view.getUint8(at),
        selector: view.getUint8(at + 1),
        matching: view.getUint8(at + 2),
        // A copy: `slice` of a Buffer would keep the whole packet.
        data: new Uint8Array(bytes.subarray(at + 3, end)),
      };
    case recordTypes.CAA: {
      const tagEnd = at + 2 + (bytes[at + 1] ?? 0);
      if (end - at < 3 || tagEnd > end || tagEnd === at + 2) return undefined;
      const latin = (from: number, to: number) => Buffer.from(bytes.subarray(from, to)).toString('latin1');
      return {
        type: 'CAA',
        tag: latin(at + 2, tagEnd).toLowerCase(),
        value: latin(tagEnd, end),
      };
    }
    default:
      return { type: 'OTHER', code: typeCode };
  }
}

function readText(bytes: Uint8Array, at: number, end: number): DnsRecordData | undefined {
  const joined = new Uint8Array(end - at);
  let length = 0;
  let from = at;
  while (from < end) {
    const size = bytes[from] ?? 0;
    if (from + 1 + size > end) return undefined;
    joined.set(bytes.subarray(from + 1, from + 1 + size), length);
    length += size;
    from += size + 1;
  }
  // At least one character-string (RFC 1035 §3.3.14).
  if (end === at) return undefined;
  return {
    type: 'TXT',
    text: new TextDecoder('utf-8', { ignoreBOM: true }).decode(joined.subarray(0, length)),
  };
}
