import { createRequire } from 'node:module';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cpuMsOf } from '../../test/fakes/thread-cpu.ts';
import { type DnsMessage, decodeMessage, encodeQuery, recordTypes } from './dns-codec.ts';
import { encodeName, isHostName, readName } from './dns-name.ts';

/** A foreign codec as judge. */
const { Packet } = createRequire(import.meta.url)('dns2') as {
  Packet: {
    parse(bytes: Uint8Array): Record<string, never> & {
      header: { id: number; rd: number };
      questions: { name: string; type: number; class: number }[];
      additionals: { type: number; class: number }[];
    };
    new (data: object): { toBuffer(): Buffer };
    Header: new (fields: object) => object;
  };
};

const label = fc.stringMatching(/^[a-z0-9_](?:[a-z0-9_-]{0,20}[a-z0-9])?$/);
const name = fc.array(label, { minLength: 1, maxLength: 5 }).map((labels) => labels.join('.'));

function decoded(bytes: Uint8Array): DnsMessage {
  const result = decodeMessage(bytes);
  if (result.kind === 'malformed') throw new Error(result.detail);
  return result.message;
}

/** A message by hand: header, then whatever follows. */
function message(counts: [number, number, number, number], rest: number[], flags = 0x8180): Uint8Array {
  return Uint8Array.from([
    0x12,
    0x34,
    flags >> 8,
    flags & 255,
    ...counts.flatMap((n) => [n >> 8, n & 255]),
    ...rest,
  ]);
}

const ascii = (text: string) => [...text].flatMap((each) => each.charCodeAt(0));
const EXAMPLE = [7, ...ascii('example'), 3, ...ascii('com'), 0];
const QUESTION = [...EXAMPLE, 0, 15, 0, 1];
/** Points at the question's name. */
const POINTER = [0xc0, 12];
const record = (type: number, data: number[], owner = POINTER, klass = 1) => [
  ...owner,
  ...[type >> 8, type & 255, klass >> 8, klass & 255, 0, 0, 1, 44],
  ...[data.length >> 8, data.length & 255],
  ...data,
];

describe('a query', () => {
  it('is read by a foreign codec as what was asked', () => {
    fc.assert(
      fc.property(
        name,
        fc.integer({ min: 0, max: 65_535 }),
        fc.constantFrom('A', 'MX', 'TXT', 'TLSA'),
        (host, id, type) => {
          const bytes = encodeQuery({ id, name: host, type: type as 'A', edns: true });
          const read = Packet.parse(Buffer.from(bytes ?? []));
          expect(read.header).toMatchObject({ id, rd: 1 });
          expect(read.questions).toMatchObject([{ name: host, type: recordTypes[type as 'A'], class: 1 }]);
          expect(read.additionals).toMatchObject([{ type: 41 }]);
          expect(bytes?.subarray(-8, -6)).toEqual(Uint8Array.of(1232 >> 8, 1232 & 255));
        },
      ),
    );
  });

  it('is read back by our own decoder, with and without EDNS', () => {
    fc.assert(
      fc.property(name, fc.boolean(), (host, edns) => {
        const bytes = encodeQuery({ id: 7, name: host.toUpperCase(), type: 'MX', edns });
        expect(decoded(bytes ?? new Uint8Array())).toMatchObject({
          id: 7,
          isResponse: false,
          question: { name: host, typeCode: 15, classCode: 1 },
        });
      }),
    );
  });

  it('is not made of a name without wire form', () => {
    const long = `${'x'.repeat(63)}.`.repeat(4);
    for (const bad of ['a..b', '.a', 'x'.repeat(64), long, 'ü.test', 'a b', 'a\\.b', 'a\0b']) {
      expect(encodeQuery({ id: 1, name: bad, type: 'A', edns: true })).toBeUndefined();
    }
    const longest = [63, 63, 63, 61].map((size) => 'x'.repeat(size)).join('.');
    expect(encodeName(longest)).toHaveLength(255);
    expect(encodeName(`${longest}x`)).toBeUndefined();
    expect(encodeName('.')).toEqual(Uint8Array.of(0));
  });
});

describe('an answer', () => {
  it('written by a foreign codec is read as it was meant', () => {
    const domain = 'example.com';
    const answers = [
      { name: domain, type: 1, class: 1, ttl: 60, address: '192.0.2.1' },
      { name: domain, type: 28, class: 1, ttl: 61, address: '2001:db8::1' },
      { name: domain, type: 15, class: 1, ttl: 62, priority: 10, exchange: 'MX.Example.com' },
      { name: domain, type: 16, class: 1, ttl: 63, data: ['v=spf1 ', '-all'] },
      { name: 'www.example.com', type: 5, class: 1, ttl: 64, domain },
      { name: domain, type: 2, class: 1, ttl: 65, ns: 'ns.example.com' },
    ];
    const header = new Packet.Header({ id: 9, qr: 1, aa: 1, rd: 1, ra: 1 });
    const packet = Object.assign(new Packet(header), {
      questions: [{ name: domain, type: 1, class: 1 }],
      answers,
    });
    const read = decoded(packet.toBuffer());
    expect(read).toMatchObject({ id: 9, isResponse: true, authoritative: true, recursionAvailable: true });
    expect(read.answers).toEqual([
      { name: domain, ttlSeconds: 60, type: 'A', address: '192.0.2.1' },
      { name: domain, ttlSeconds: 61, type: 'AAAA', address: '2001:db8::1' },
      { name: domain, ttlSeconds: 62, type: 'MX', preference: 10, exchange: 'mx.example.com' },
      { name: domain, ttlSeconds: 63, type: 'TXT', text: 'v=spf1 -all' },
      { name: 'www.example.com', ttlSeconds: 64, type: 'CNAME', target: domain },
      { name: domain, ttlSeconds: 65, type: 'NS', target: 'ns.example.com' },
    ]);
  });

  it('with compressed names, inside data too, is read', () => {
    const mx = record(15, [0, 10, 2, ...ascii('mx'), ...POINTER]);
    const nested = record(15, [0, 20, 1, ...ascii('b'), 0xc0, 12 + QUESTION.length + 14]);
    expect(decoded(message([1, 2, 0, 0], [...QUESTION, ...mx, ...nested])).answers).toMatchObject([
      { name: 'example.com', preference: 10, exchange: 'mx.example.com', ttlSeconds: 300 },
      { name: 'example.com', preference: 20, exchange: 'b.mx.example.com' },
    ]);
  });

  it('shows flags, the SOA minimum, PTR, TLSA, unknown types and the extended code', () => {
    const soa = record(6, [0, 0, ...new Array<number>(16).fill(0), 0, 0, 1, 0]);
    const opt = [0, 0, 41, 4, 208, 1, 0, 0, 0, 0, 0];
    const rest = [
      ...QUESTION,
      ...record(12, EXAMPLE),
      ...record(52, [3, 1, 1, 0xaa, 0xbb]),
      ...record(99, [1, 2, 3]),
      ...record(1, [1], POINTER, 3),
      ...soa,
      ...opt,
    ];
    expect(decoded(message([1, 4, 1, 1], rest, 0x81a0))).toMatchObject({
      authenticData: true,
      responseCode: 16,
      answers: [
        { type: 'PTR', target: 'example.com' },
        { type: 'TLSA', usage: 3, selector: 1, matching: 1, data: Uint8Array.of(0xaa, 0xbb) },
        { type: 'OTHER', code: 99 },
        { type: 'OTHER', code: 1 },
      ],
      authority: [{ type: 'SOA', minimumSeconds: 256 }],
    });
  });

  it('counts a TTL with the top bit set as zero', () => {
    const bytes = message([0, 1, 0, 0], [0, 0, 1, 0, 1, 0x80, 0, 0, 1, 0, 4, 1, 2, 3, 4]);
    expect(decoded(bytes).answers).toMatchObject([{ ttlSeconds: 0, address: '1.2.3.4' }]);
  });

  it('that is truncated is not read beyond the question', () => {
    const bytes = message([1, 5, 5, 5], [...QUESTION, 1, 2, 3], 0x8380);
    expect(decoded(bytes)).toMatchObject({ truncated: true, question: { name: 'example.com' }, answers: [] });
  });

  it('keeps a dot within a label apart from one between labels', () => {
    const odd = [5, ...ascii('a.B\\c'), 2, 0x20, 0xff, 0];
    const read = decoded(message([0, 1, 0, 0], record(5, odd, [0]))).answers[0];
    expect(read).toMatchObject({ target: 'a\\.b\\\\c.\\032\\255' });
    expect(isHostName('a\\.b')).toBe(false);
    expect(encodeName('a\\.b')).toBeUndefined();
  });

  it.each([
    ['shorter than a header', Uint8Array.of(1, 2, 3)],
    ['with an opcode that is no query', message([0, 0, 0, 0], [], 0x9180)],
    ['with two questions', message([2, 0, 0, 0], [...QUESTION, ...QUESTION])],
    ['cut in the question', message([1, 0, 0, 0], EXAMPLE)],
    ['with fewer records than it counts', message([1, 1, 0, 0], QUESTION)],
    ['with data beyond the end', message([0, 1, 0, 0], [0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 9, 1, 2, 3, 4])],
    ['with an A of three octets', message([1, 1, 0, 0], [...QUESTION, ...record(1, [1, 2, 3])])],
    ['with an AAAA of four octets', message([1, 1, 0, 0], [...QUESTION, ...record(28, [1, 2, 3, 4])])],
    ['with an MX that is only a number', message([1, 1, 0, 0], [...QUESTION, ...record(15, [0, 1])])],
    [
      'with an MX name that leaves its data',
      message([1, 1, 0, 0], [...QUESTION, ...record(15, [0, 1, 1, 97])]),
    ],
    ['with octets behind a CNAME', message([1, 1, 0, 0], [...QUESTION, ...record(5, [...POINTER, 0])])],
    ['with an empty TXT', message([1, 1, 0, 0], [...QUESTION, ...record(16, [])])],
    ['with a TXT string beyond its data', message([1, 1, 0, 0], [...QUESTION, ...record(16, [5, 97])])],
    ['with a short TLSA', message([1, 1, 0, 0], [...QUESTION, ...record(52, [3, 1, 1])])],
    ['with a short SOA', message([1, 1, 0, 0], [...QUESTION, ...record(6, [0, 0, 1, 2, 3])])],
    ['with a reserved label type', message([1, 0, 0, 0], [0x80, 1, 0, 0, 15, 0, 1])],
    ['with a pointer to itself', message([1, 0, 0, 0], [0xc0, 12, 0, 15, 0, 1])],
    ['with a pointer forwards', message([1, 0, 0, 0], [0xc0, 14, 0, 0, 15, 0, 1])],
    ['with a loop of labels', message([1, 0, 0, 0], [1, 97, 0xc0, 12, 0, 15, 0, 1])],
    [
      'with a name over 255 octets',
      message([1, 0, 0, 0], [...new Array(5).fill([60, ...ascii('x'.repeat(60))]).flat(), 0, 0, 1, 0, 1]),
    ],
  ])('%s is malformed', (_what, bytes) => {
    expect(decodeMessage(bytes)).toMatchObject({ kind: 'malformed' });
  });
});

describe('hostile bytes', () => {
  it('of any kind are decoded or refused, never more', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 600 }), (bytes) => {
        expect(['message', 'malformed']).toContain(decodeMessage(bytes).kind);
      }),
      { numRuns: 3000 },
    );
  });

  it('made from a good answer by small changes are decoded or refused', () => {
    const mx = record(15, [0, 10, 2, ...ascii('mx'), ...POINTER]);
    const good = message(
      [1, 3, 0, 0],
      [...QUESTION, ...mx, ...record(16, [2, 97, 98]), ...record(1, [1, 2, 3, 4])],
    );
    const change = fc.tuple(fc.nat(good.length - 1), fc.nat(255));
    fc.assert(
      fc.property(fc.array(change, { maxLength: 6 }), fc.nat(good.length), (changes, length) => {
        const bytes = Uint8Array.from(good);
        for (const [at, value] of changes) bytes[at] = value;
        expect(['message', 'malformed']).toContain(decodeMessage(bytes.subarray(0, length)).kind);
      }),
      { numRuns: 3000 },
    );
  });

  it('cannot fill the memory: many records whose compressed names are long take little more than their text', () => {
    const long = [63, 63, 63, 58].flatMap((length) => [length, ...Array.from({ length }, () => 0)]);
    const mx = record(15, [0, 10, ...POINTER]);
    const answer = (records: number) =>
      message(
        [1, records, 0, 0],
        [...long, 0, 0, 15, 0, 1, ...Array.from({ length: records }, () => mx).flat()],
      );
    expect(decodeMessage(answer(257))).toEqual({ kind: 'malformed', detail: 'too many records' });

    setFlagsFromString('--expose-gc');
    const collect: () => void = runInNewContext('gc');
    decodeMessage(answer(256));
    collect();
    const before = process.memoryUsage().heapUsed;
    const kept = Array.from({ length: 20 }, () => decodeMessage(answer(256)));
    collect();
    const each = (process.memoryUsage().heapUsed - before) / kept.length;
    // Two names of 1,000 characters a record.
    expect(each).toBeLessThan(2 * 256 * 2 * 1_000);
  });

  it('cannot make decoding slow: full of pointers, it takes a fraction of a second', () => {
    // Every record's name is a pointer to the one before, the longest chain there can be.
    const bytes = new Uint8Array(65_535);
    bytes.set(message([0, 65_535, 0, 0], [0]));
    let at = 13;
    let previous = 12;
    while (at + 12 <= bytes.length) {
      bytes.set([0xc0 | (previous >> 8), previous & 255, 0, 99, 0, 1, 0, 0, 0, 0, 0, 0], at);
      if (at < 16_384) previous = at;
      at += 12;
    }
    const ms = cpuMsOf(() => {
      decodeMessage(bytes);
      for (let i = 0; i < 1000; i++) readName(bytes, 16_380);
    });
    expect(ms).toBeLessThan(1_000);
  });
});
