/**
 * A DNS server on loopback, UDP and TCP on one port, that answers as a recursive resolver would from a table of
 * names. Names, records and faults may change while it runs; it counts and reports what it is asked.
 * It has its own encoder, so that it judges the codec it is used to test. A name that is in the table without the
 * type asked for is NODATA, as is a name that only has names below it, or that may be a top-level domain; anything else
 * is NXDOMAIN.
 */
import { createSocket, type RemoteInfo } from 'node:dgram';
import { createServer, type Socket } from 'node:net';
import { type Clock, systemClock } from '../../src/lib/clock.ts';

/** The records of one name. */
export interface FakeRecords {
  /** `'mx1.example.com'` (preference 10), `[20, 'mx2.example.com']`; `''` or `'.'` is a null MX. */
  MX?: readonly (string | readonly [preference: number, exchange: string])[];
  A?: readonly string[];
  AAAA?: readonly string[];
  /** Strings over 255 bytes are cut into several; an inner array gives the pieces. */
  TXT?: readonly (string | readonly string[])[];
  CNAME?: string;
  NS?: readonly string[];
  PTR?: readonly string[];
  /** usage, selector, matching, hexadecimal data. */
  TLSA?: readonly (readonly [number, number, number, string])[];
  /** flags, tag, value. */
  CAA?: readonly (readonly [number, string, string])[];
  /** Gives its other records although it has a CNAME, as servers that do not look after their zones do. */
  besideAlias?: true;
  /** Of all these records; 300 unless given. */
  ttl?: number;
  /** Minimum of the SOA that comes with NODATA; 60 unless given, null for an answer without SOA. */
  negativeTtl?: number | null;
  /** Sets the AD bit. */
  secure?: boolean;
}

export type FakeZones = Record<string, FakeRecords>;

export type FakeFault =
  /** No answer at all, over TCP a connection that stays silent. */
  | { kind: 'drop' }
  /** As behind a firewall that lets no datagrams through. */
  | { kind: 'drop-udp' }
  | { kind: 'delay'; delayMs: number }
  | { kind: 'servfail' | 'refused' | 'formerr' | 'nxdomain' }
  /** FORMERR only to queries with EDNS. */
  | { kind: 'no-edns' }
  /** TC over UDP, the full answer over TCP. */
  | { kind: 'truncate' }
  /** NOERROR, empty, not authoritative, no recursion; a referral when `referral` is set. */
  | { kind: 'lame'; referral?: boolean }
  /** A wrong id or question; followed by the right answer when `thenRight` is set. */
  | { kind: 'wrong-id' | 'wrong-question'; thenRight?: boolean }
  /** These bytes behind a right id, or instead of everything when `raw` is set. */
  | { kind: 'garbage'; bytes: Uint8Array; raw?: boolean }
  /** NOERROR, with a record of another name only. */
  | { kind: 'other-name' }
  /** Over TCP: closes after half the answer. */
  | { kind: 'half-answer' };

export interface FakeQuery {
  name: string;
  type: string;
  transport: 'udp' | 'tcp';
  id: number;
  sourcePort: number;
  hasEdns: boolean;
}

export interface FakeDns {
  /** For `createResolver({ servers: [dns.server] })`. */
  server: { address: string; port: number };
  /** The same as configuration text, `127.0.0.1:12345`. */
  text: string;
  /** Replaces a name's records, or removes the name. */
  set(name: string, records: FakeRecords | undefined): void;
  /** Answers every name below `zone` that is not in the table. */
  wildcard(zone: string, records: FakeRecords): void;
  /** For a name, a name and type (`'MX example.com'`) or everything (`'*'`); `times` queries long, or until cleared. */
  fault(target: string, fault: FakeFault | undefined, times?: number): void;
  /** How often a name (of that type) was asked for, over both transports; everything without a name. */
  count(name?: string, type?: string): number;
  /** Every query so far, oldest first. */
  queries: readonly FakeQuery[];
  /** Resolves when the total of queries has reached `total`. */
  reached(total: number): Promise<void>;
  close(): Promise<void>;
}

const CODES: Record<string, number> = {
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
};
const TYPES = new Map(Object.entries(CODES).map(([type, code]) => [code, type]));

/** Listens on a free port of `address` (127.0.0.1 unless given; all of 127/8 works on Linux). */
export async function createFakeDns(
  zones: FakeZones = {},
  options: { address?: string; clock?: Clock } = {},
): Promise<FakeDns> {
  const { address = '127.0.0.1', clock = systemClock } = options;
  const names = new Map(Object.entries(zones).map(([name, records]) => [plain(name), records]));
  const wildcards = new Map<string, FakeRecords>();
  const faults = new Map<string, { fault: FakeFault; left: number }>();
  const queries: FakeQuery[] = [];
  const waiters: { total: number; resolve: () => void }[] = [];
  const sockets = new Set<Socket>();
  let isOpen = true;

  const tcp = createServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => socket.destroy());
    let received = Buffer.alloc(0);
    socket.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
      while (received.length >= 2 && received.length >= 2 + received.readUInt16BE(0)) {
        const end = 2 + received.readUInt16BE(0);
        const packet = received.subarray(2, end);
        received = received.subarray(end);
        handle(packet, 'tcp', socket.remotePort ?? 0, (answer, half) => {
          const framed = Buffer.concat([uint16(answer.length), answer]);
          if (half) socket.end(framed.subarray(0, framed.length >> 1));
          else socket.write(framed);
        });
      }
    });
  });
  const udp = createSocket('udp4');
  udp.on('message', (packet, from: RemoteInfo) => {
    handle(packet, 'udp', from.port, (answer) => {
      if (isOpen) udp.send(answer, from.port, from.address);
    });
  });
  const port = await listenOnBoth();

  /** The port that TCP got may be taken for UDP; then another one is tried. */
  async function listenOnBoth(): Promise<number> {
    for (let tries = 0; ; tries++) {
      await new Promise<void>((resolve) => tcp.listen(0, address, resolve));
      const bound = tcp.address();
      const candidate = bound !== null && typeof bound === 'object' ? bound.port : 0;
      const isBound = await new Promise<boolean>((resolve) => {
        udp.once('error', () => resolve(false));
        udp.bind(candidate, address, () => resolve(true));
      });
      udp.removeAllListeners('error');
      udp.on('error', () => {});
      if (isBound) return candidate;
      if (tries === 20) throw new Error('no port is free for both UDP and TCP');
      await new Promise((resolve) => tcp.close(resolve));
    }
  }

  function handle(
    packet: Buffer,
    transport: 'udp' | 'tcp',
    sourcePort: number,
    send: (answer: Buffer, half?: boolean) => void,
  ): void {
    const query = readQuery(packet);
    if (!query) return;
    queries.push({ ...query, transport, sourcePort });
    for (const waiter of waiters.splice(0)) {
      if (queries.length >= waiter.total) waiter.resolve();
      else waiters.push(waiter);
    }
    const fault = takeFault(query.name, query.type);
    const sendAll = () => {
      for (const packet of packetsFor(fault, query, transport)) {
        send(packet, fault?.kind === 'half-answer' && transport === 'tcp');
      }
    };
    if (fault?.kind === 'delay') clock.setTimer(fault.delayMs, sendAll);
    else sendAll();
  }

  /** What goes out in answer, in this order. */
  function packetsFor(
    fault: FakeFault | undefined,
    query: { id: number; name: string; type: string; hasEdns: boolean },
    transport: 'udp' | 'tcp',
  ): Buffer[] {
    const right = buildAnswer(query);
    switch (fault?.kind) {
      case undefined:
      case 'delay':
        return [right];
      case 'drop':
        return [];
      case 'drop-udp':
        return transport === 'udp' ? [] : [right];
      case 'servfail':
        return [encode(query, { code: 2 })];
      case 'refused':
        return [encode(query, { code: 5 })];
      case 'formerr':
        return [encode(query, { code: 1 })];
      case 'nxdomain':
        return [encode(query, { code: 3, authority: [soa(query.name, 60)] })];
      case 'no-edns':
        return [query.hasEdns ? encode(query, { code: 1 }) : right];
      case 'truncate':
      case 'half-answer':
        return [transport === 'udp' ? encode(query, { truncated: true }) : right];
      case 'lame': {
        const referral = record(query.name, 'NS', 300, wireName('ns.elsewhere.test'));
        return [encode(query, { recursionAvailable: false, authority: fault.referral ? [referral] : [] })];
      }
      case 'other-name':
        return [encode(query, { answers: [record('elsewhere.test', 'A', 300, Buffer.of(192, 0, 2, 1))] })];
      case 'wrong-id': {
        const wrong = Buffer.from(right);
        wrong.writeUInt16BE(query.id ^ 0x5555, 0);
        return fault.thenRight ? [wrong, right] : [wrong];
      }
      case 'wrong-question': {
        const wrong = encode({ ...query, name: `not-${query.name}` }, {});
        return fault.thenRight ? [wrong, right] : [wrong];
      }
      case 'garbage':
        return [fault.raw ? Buffer.from(fault.bytes) : Buffer.concat([uint16(query.id), fault.bytes])];
    }
  }

  function takeFault(name: string, type: string): FakeFault | undefined {
    for (const key of [`${type} ${name}`, name, '*']) {
      const entry = faults.get(key);
      if (!entry) continue;
      if (--entry.left <= 0) faults.delete(key);
      return entry.fault;
    }
    return undefined;
  }

  function recordsOf(name: string): FakeRecords | undefined {
    const own = names.get(name);
    if (own) return own;
    return [...wildcards].find(([zone]) => name.endsWith(`.${zone}`))?.[1];
  }

  function buildAnswer(query: { id: number; name: string; type: string }): Buffer {
    const answers: Buffer[] = [];
    let owner = query.name;
    let isSecure = names.get(owner)?.secure ?? false;
    // As a resolver does: the chain of aliases as far as it is known here, then the records at its end.
    for (let step = 0; step < 12; step++) {
      const records = recordsOf(owner);
      if (!records) break;
      isSecure &&= records.secure ?? false;
      if (records.CNAME === undefined || query.type === 'CNAME') break;
      if (records.besideAlias === true && dataOf(records, query.type).length > 0) break;
      answers.push(record(owner, 'CNAME', records.ttl ?? 300, wireName(records.CNAME)));
      owner = plain(records.CNAME);
    }
    const records = recordsOf(owner);
    const data = records ? dataOf(records, query.type) : [];
    if (data.length > 0) {
      answers.push(...data.map((each) => record(owner, query.type, records?.ttl ?? 300, each)));
      return encode(query, { answers, isSecure });
    }
    if (records?.CNAME !== undefined) return encode(query, { answers, isSecure });
    const negativeTtl = records?.negativeTtl === undefined ? 60 : records.negativeTtl;
    const authority = negativeTtl === null ? [] : [soa(owner, negativeTtl)];
    const hasBelow = !owner.includes('.') || [...names.keys()].some((name) => name.endsWith(`.${owner}`));
    return encode(query, { answers, authority, isSecure, code: records || hasBelow ? 0 : 3 });
  }

  return {
    server: { address, port },
    text: `${address}:${port}`,
    set(name, records) {
      if (records) names.set(plain(name), records);
      else names.delete(plain(name));
    },
    wildcard: (zone, records) => void wildcards.set(plain(zone), records),
    fault(target, fault, times = Number.POSITIVE_INFINITY) {
      if (fault) faults.set(target, { fault, left: times });
      else faults.delete(target);
    },
    count: (name, type) =>
      queries.filter(
        (query) =>
          (name === undefined || query.name === plain(name)) && (type === undefined || query.type === type),
      ).length,
    queries,
    reached(total) {
      if (queries.length >= total) return Promise.resolve();
      return new Promise((resolve) => waiters.push({ total, resolve }));
    },
    async close() {
      isOpen = false;
      for (const socket of sockets) socket.destroy();
      await Promise.all([
        new Promise<void>((resolve) => udp.close(() => resolve())),
        new Promise((resolve) => tcp.close(resolve)),
      ]);
    },
  };
}

function plain(name: string): string {
  return name.toLowerCase().replace(/\.$/, '');
}

function readQuery(packet: Buffer): { id: number; name: string; type: string; hasEdns: boolean } | undefined {
  if (packet.length < 17) return undefined;
  const labels: string[] = [];
  let at = 12;
  while (packet[at]) {
    const size = packet[at] ?? 0;
    labels.push(packet.toString('latin1', at + 1, at + 1 + size));
    at += size + 1;
  }
  if (at + 5 > packet.length) return undefined;
  const code = packet.readUInt16BE(at + 1);
  return {
    id: packet.readUInt16BE(0),
    name: plain(labels.join('.')),
    type: TYPES.get(code) ?? String(code),
    hasEdns: packet.readUInt16BE(10) > 0,
  };
}

interface AnswerParts {
  code?: number;
  answers?: Buffer[];
  authority?: Buffer[];
  isSecure?: boolean;
  truncated?: boolean;
  recursionAvailable?: boolean;
}

function encode(query: { id: number; name: string; type: string }, parts: AnswerParts): Buffer {
  const { code = 0, answers = [], authority = [], isSecure = false } = parts;
  const { truncated = false, recursionAvailable = true } = parts;
  const flags =
    0x8100 | (truncated ? 0x200 : 0) | (recursionAvailable ? 0x80 : 0) | (isSecure ? 0x20 : 0) | code;
  const header = [query.id, flags, 1, answers.length, authority.length, 0].map(uint16);
  const typeCode = CODES[query.type] ?? Number(query.type);
  return Buffer.concat([
    ...header,
    wireName(query.name),
    uint16(typeCode),
    uint16(1),
    ...answers,
    ...authority,
  ]);
}

function record(owner: string, type: string, ttl: number, data: Buffer): Buffer {
  const fixed = Buffer.alloc(10);
  fixed.writeUInt16BE(CODES[type] ?? 0, 0);
  fixed.writeUInt16BE(1, 2);
  fixed.writeUInt32BE(ttl, 4);
  fixed.writeUInt16BE(data.length, 8);
  return Buffer.concat([wireName(owner), fixed, data]);
}

function soa(name: string, minimum: number): Buffer {
  const numbers = Buffer.alloc(20);
  numbers.writeUInt32BE(minimum, 16);
  return record(name, 'SOA', 3600, Buffer.concat([wireName('ns.test'), wireName('admin.test'), numbers]));
}

function dataOf(records: FakeRecords, type: string): Buffer[] {
  switch (type) {
    case 'MX':
      return (records.MX ?? []).map((each) => {
        const [preference, exchange] = typeof each === 'string' ? [10, each] : each;
        return Buffer.concat([uint16(preference), wireName(exchange)]);
      });
    case 'A':
      return (records.A ?? []).map((text) => Buffer.from(text.split('.').map(Number)));
    case 'AAAA':
      return (records.AAAA ?? []).map(ipv6Bytes);
    case 'TXT':
      return (records.TXT ?? []).map((text) => {
        const pieces =
          typeof text === 'string' ? piecesOf(Buffer.from(text)) : text.map((each) => Buffer.from(each));
        return Buffer.concat(pieces.map((piece) => Buffer.concat([Buffer.of(piece.length), piece])));
      });
    case 'CNAME':
      return records.CNAME === undefined ? [] : [wireName(records.CNAME)];
    case 'NS':
      return (records.NS ?? []).map(wireName);
    case 'PTR':
      return (records.PTR ?? []).map(wireName);
    case 'TLSA':
      return (records.TLSA ?? []).map(([usage, selector, matching, hex]) =>
        Buffer.concat([Buffer.of(usage, selector, matching), Buffer.from(hex, 'hex')]),
      );
    case 'CAA':
      return (records.CAA ?? []).map(([flags, tag, value]) =>
        Buffer.concat([Buffer.of(flags, tag.length), Buffer.from(tag), Buffer.from(value)]),
      );
    default:
      return [];
  }
}

function piecesOf(bytes: Buffer): Buffer[] {
  const pieces = [bytes.subarray(0, 255)];
  for (let at = 255; at < bytes.length; at += 255) pieces.push(bytes.subarray(at, at + 255));
  return pieces;
}

function wireName(name: string): Buffer {
  const trimmed = name.replace(/\.$/, '');
  const labels = trimmed === '' ? [] : trimmed.split('.').map((label) => Buffer.from(label, 'latin1'));
  return Buffer.concat([...labels.flatMap((label) => [Buffer.of(label.length), label]), Buffer.of(0)]);
}

function ipv6Bytes(text: string): Buffer {
  const dotted = /^(.*:)(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(text);
  const groupsOf = (part: string) =>
    part === '' ? [] : part.split(':').map((each) => Number.parseInt(each, 16));
  const plainText = dotted
    ? `${dotted[1]}${((Number(dotted[2]) << 8) | Number(dotted[3])).toString(16)}:${((Number(dotted[4]) << 8) | Number(dotted[5])).toString(16)}`
    : text;
  const [head = '', tail] = plainText.split('::');
  const front = groupsOf(head);
  const back = tail === undefined ? [] : groupsOf(tail);
  const middle = tail === undefined ? [] : new Array<number>(8 - front.length - back.length).fill(0);
  return Buffer.concat([...front, ...middle, ...back].map(uint16));
}

function uint16(value: number): Buffer {
  return Buffer.of((value >> 8) & 0xff, value & 0xff);
}
