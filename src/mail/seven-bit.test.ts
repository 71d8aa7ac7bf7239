import fc from 'fast-check';
import PostalMime from 'postal-mime';
import { describe, expect, it } from 'vitest';
import { cpuMsOf } from '../../test/fakes/thread-cpu.ts';
import { inOneGo } from '../lib/turns.ts';
import { toSevenBitInSteps } from './seven-bit.ts';
import {
  base64Size,
  encodeBase64,
  encodeQuotedPrintable,
  quotedPrintableBound,
} from './transfer-encoding.ts';

const wire = (...lines: string[]) => Buffer.from(`${lines.join('\r\n')}\r\n`, 'utf8');
const TOP = ['From: a@example.com', 'Subject: x', 'MIME-Version: 1.0'];

const toSevenBit = (message: Uint8Array) => inOneGo(toSevenBitInSteps(message));

function converted(message: Uint8Array): Buffer {
  const result = toSevenBit(message);
  if (result.kind === 'impossible') throw new Error(result.why);
  const bytes = Buffer.from(result.bytes);
  expect(bytes.every((octet) => octet < 128)).toBe(true);
  expect(bytes.subarray(result.bodyOffset - 4, result.bodyOffset).toString()).toBe('\r\n\r\n');
  return bytes;
}

/** What an ordinary reader makes of it. */
async function contents(bytes: Uint8Array) {
  const mail = await PostalMime.parse(new Uint8Array(bytes), { attachmentEncoding: 'arraybuffer' });
  return {
    // A reader that ends the last line by itself does so for one encoding and not for another.
    text: mail.text?.trimEnd(),
    html: mail.html?.trimEnd(),
    files: mail.attachments.map(({ mimeType, filename, content }) => ({
      mimeType,
      filename,
      content: Buffer.from(content as ArrayBuffer)
        .toString('latin1')
        .trimEnd(),
    })),
  };
}

interface Leaf {
  kind: 'leaf';
  type: string;
  body: Buffer;
}
interface Branch {
  kind: 'branch';
  type: string;
  children: readonly Tree[];
  preamble: string;
}
type Tree = Leaf | Branch;

/** A body as a wire may carry it: any octets but NUL, lines ended by CRLF only, none too long. */
const rawBody = fc
  .array(fc.uint8Array({ minLength: 0, maxLength: 60 }), { maxLength: 8 })
  .map((lines) =>
    Buffer.concat(
      lines.flatMap((line) => [
        Buffer.from(line.map((c) => (c === 0 || c === 10 || c === 13 || c === 45 ? 200 : c))),
        Buffer.from('\r\n'),
      ]),
    ),
  );
const textBody = fc
  .array(fc.string({ unit: 'grapheme', maxLength: 60 }), { maxLength: 8 })
  .map((lines) =>
    Buffer.from(lines.map((line) => `${line.replace(/[\r\n\0-]/g, 'é')}\r\n`).join(''), 'utf8'),
  );
const leaf: fc.Arbitrary<Tree> = fc.oneof(
  textBody.map((body): Leaf => ({ kind: 'leaf', type: 'text/plain; charset=utf-8', body })),
  textBody.map((body): Leaf => ({ kind: 'leaf', type: 'text/html; charset="utf-8"', body })),
  rawBody.map((body): Leaf => ({ kind: 'leaf', type: 'application/octet-stream; name=f.bin', body })),
);
const tree: fc.Arbitrary<Tree> = fc.letrec<{ tree: Tree }>((tie) => ({
  tree: fc.oneof(
    { depthSize: 'small' },
    leaf,
    fc.record({
      kind: fc.constant('branch' as const),
      type: fc.constantFrom('multipart/mixed', 'multipart/alternative'),
      children: fc.array(tie('tree'), { minLength: 1, maxLength: 3 }),
      preamble: fc.constantFrom('', 'für alte Leser\r\n'),
    }),
  ),
})).tree;

/** Body octets of every leaf, decoded by the standard's own rules, in order. */
function leaves(node: Tree): Buffer[] {
  return node.kind === 'leaf' ? [node.body] : node.children.flatMap(leaves);
}

let boundaryNo = 0;
function write(node: Tree): Buffer {
  if (node.kind === 'leaf') {
    return Buffer.concat([
      Buffer.from(`Content-Type: ${node.type}\r\nContent-Transfer-Encoding: 8bit\r\n\r\n`),
      node.body,
    ]);
  }
  // None begins with another one: readers compare the beginning of a line (RFC 2046 §5.1.1).
  const boundary = `b${String(boundaryNo++).padStart(9, '0')}`;
  const parts = node.children.flatMap((child) => [Buffer.from(`\r\n--${boundary}\r\n`), write(child)]);
  const head = `Content-Type: ${node.type}; boundary="${boundary}"\r\nContent-Transfer-Encoding: 8bit\r\n\r\n${node.preamble}`;
  return Buffer.concat([Buffer.from(head), ...parts, Buffer.from(`\r\n--${boundary}--\r\n`)]);
}

/** Reads leaves back: a reader that knows the boundaries of `write` and nothing of the converter. */
function readLeaves(bytes: Buffer): Buffer[] {
  const split = bytes.indexOf('\r\n\r\n');
  const header = bytes.subarray(0, split).toString('latin1');
  const body = bytes.subarray(split + 4);
  const boundary = /boundary="(b\d+)"/.exec(header)?.[1];
  if (boundary !== undefined) {
    const pieces = body.toString('latin1').split(`--${boundary}`).slice(1, -1);
    return pieces.flatMap((piece) => readLeaves(Buffer.from(piece.slice(2, -2), 'latin1')));
  }
  const encoding = /content-transfer-encoding: (.*)/i.exec(header)?.[1];
  if (encoding === 'base64') return [Buffer.from(body.toString('latin1'), 'base64')];
  if (encoding !== 'quoted-printable') return [body];
  const joined = body.toString('latin1').replaceAll('=\r\n', '');
  return [
    Buffer.from(
      joined.replace(/=([0-9A-F]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16))),
      'latin1',
    ),
  ];
}

describe('a message made seven-bit', () => {
  it('keeps the content of every part to the octet, whatever the tree', () => {
    fc.assert(
      fc.property(tree, (root) => {
        const before = Buffer.concat([wire(...TOP), write(root)]);
        const after = converted(before);
        expect(readLeaves(after).map((body) => body.toString('hex'))).toEqual(
          leaves(root).map((body) => body.toString('hex')),
        );
        for (const line of after.toString('latin1').split('\r\n'))
          expect(line.length).toBeLessThanOrEqual(998);
      }),
      { numRuns: 300 },
    );
  });

  it('reads the same to an ordinary reader of mail', async () => {
    const before = wire(
      ...TOP,
      'Content-Type: multipart/mixed; boundary=outer',
      '',
      '--outer',
      'Content-Type: multipart/alternative; boundary="in ner"',
      'Content-Transfer-Encoding: 8bit',
      '',
      '--in ner',
      'Content-Type: text/plain; charset=utf-8',
      'Content-Transfer-Encoding: 8BIT',
      '',
      'Viele Grüße = 100 %  ',
      '.',
      '--in ner',
      'Content-Type: text/html; charset=utf-8',
      'Content-Transfer-Encoding: 8bit',
      '',
      '<p>世界世界世界</p>',
      '--in ner--',
      '--outer',
      'Content-Type: text/csv; name=a.csv; charset=utf-8',
      'Content-Disposition: attachment; filename=a.csv',
      '',
      'ä;b;c',
      '--outer',
      'Content-Type: image/png; name=l.png',
      'Content-Transfer-Encoding: base64',
      '',
      'iVBORw0KGgo=',
      '--outer--',
    );
    const after = converted(before);
    expect(await contents(after)).toEqual(await contents(before));
    expect(after.toString()).toContain('Viele Gr=C3=BC=C3=9Fe =3D 100 % =20');
  });

  it('leaves what is seven-bit already alone', () => {
    const plain = wire(...TOP, '', 'hello');
    expect(converted(plain)).toEqual(plain);
  });

  it('makes a message without MIME one with it, and names the encoding once', () => {
    expect(converted(wire('Subject: x', '', 'Many greetings: ä')).toString()).toBe(
      'Subject: x\r\nMIME-Version: 1.0\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\nMany greetings: =C3=A4\r\n',
    );
    const after = converted(wire('content-transfer-ENCODING:', ' 8bit', ...TOP, '', 'ü')).toString();
    expect(after.match(/content-transfer-encoding/gi)).toHaveLength(1);
  });

  it('goes into messages inside the message', async () => {
    const before = wire(
      ...TOP,
      'Content-Type: message/rfc822',
      'Content-Transfer-Encoding: 8bit',
      '',
      'Subject: inner',
      'MIME-Version: 1.0',
      'Content-Type: text/plain; charset=utf-8',
      'Content-Transfer-Encoding: 8bit',
      '',
      'and a word inside: ä',
    );
    const after = converted(before).toString();
    expect(after).toContain('Content-Transfer-Encoding: 7bit');
    expect(after).toContain('and a word inside: =C3=A4');
  });
});

describe('a message that cannot be', () => {
  const multipart = (type: string, ...part: string[]) =>
    wire(...TOP, `Content-Type: ${type}; boundary=b`, '', '--b', ...part, '--b--');
  it.each([
    [multipart('multipart/signed', '', 'ü'), 'signed'],
    [multipart('multipart/encrypted', '', 'ü'), 'signed or encrypted'],
    [wire('Subject: ü', '', 'x'), 'header'],
    [multipart('multipart/mixed', 'X-Odd: ü', '', 'x'), 'header'],
    [wire(...TOP, 'Content-Transfer-Encoding: base64', '', 'ü'), 'base64'],
    [wire(...TOP, 'Content-Transfer-Encoding: x-uuencode', '', 'ü'), 'x-uuencode'],
    [wire(...TOP, 'Content-Type: multipart/mixed', '', 'ü'), 'boundary'],
    [wire(...TOP, 'Content-Type: multipart/mixed; boundary=b', '', 'ü'), 'no parts'],
    [wire(...TOP, 'Content-Type: message/delivery-status', '', 'ü'), 'delivery-status'],
    [
      multipart('multipart/mixed', 'Content-Type: multipart/signed; boundary=c', '', '--c', '', 'ü', '--c--'),
      'signed',
    ],
  ])('is told so: %#', (message, why) => {
    expect(toSevenBit(message)).toMatchObject({ kind: 'impossible', why: expect.stringContaining(why) });
  });

  it('is one nested without end, and that is known soon', () => {
    const bytes = wire(
      ...Array.from({ length: 5000 }, () => ['Content-Type: message/rfc822', '']).flat(),
      'ü',
    );
    expect(cpuMsOf(() => expect(toSevenBit(bytes).kind).toBe('impossible'))).toBeLessThan(1000);
  });

  it('survives any octets', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        const result = toSevenBit(
          Buffer.concat([wire(...TOP, 'Content-Type: multipart/mixed; boundary=b', ''), bytes]),
        );
        if (result.kind === 'converted') expect(result.bytes.every((octet) => octet < 128)).toBe(true);
      }),
    );
  });

  it.each([
    ['text/plain', encodeQuotedPrintable, quotedPrintableBound],
    ['application/octet-stream', encodeBase64, base64Size],
  ] as const)('is encoded in steps where it is large, %s to the same octets', (type, encode, room) => {
    const body = Buffer.from('Gr\u00fc\u00dfe an alle, die das lesen. \r\n'.repeat(100_000));
    const head = `MIME-Version: 1.0\r\nContent-Type: ${type}\r\n\r\n`;
    const steps = toSevenBitInSteps(Buffer.concat([Buffer.from(head), body]));
    let count = 0;
    let made = steps.next();
    for (; made.done !== true; made = steps.next()) count += 1;
    expect(count).toBeGreaterThan(3);
    if (made.value.kind === 'impossible') throw new Error(made.value.why);
    const whole = Buffer.alloc(room(body.length));
    const end = encode(body, whole, 0);
    expect(Buffer.from(made.value.bytes).subarray(made.value.bodyOffset).equals(whole.subarray(0, end))).toBe(
      true,
    );
  });

  it('is read in steps where it is large, and so is the text around its parts', () => {
    const around = 'Gr\u00fc\u00dfe\r\n--\r\n'.repeat(300_000);
    const message = wire(
      ...TOP,
      'Content-Type: multipart/mixed; boundary=b',
      '',
      around,
      '--b',
      '',
      'x',
      '--b--',
      around,
    );
    const steps = toSevenBitInSteps(message);
    let longest = 0;
    for (let over = false; !over; )
      longest = Math.max(
        longest,
        cpuMsOf(() => {
          over = steps.next().done === true;
        }),
      );
    expect(longest).toBeLessThan(50);
    expect(converted(message).toString('latin1')).toBe(
      message
        .toString('latin1')
        .replace('boundary=b\r\n', 'boundary=b\r\nContent-Transfer-Encoding: 7bit\r\n')
        .replaceAll(/[\x80-\xff]/g, '?'),
    );
  });

  it('is no text where it has no line ends for very long', () => {
    const head = 'MIME-Version: 1.0\r\nContent-Type: text/plain\r\n\r\n';
    const made = toSevenBit(
      Buffer.concat([Buffer.from(head), Buffer.from('\u00fc and more'.repeat(200_000))]),
    );
    if (made.kind === 'impossible') throw new Error(made.why);
    expect(Buffer.from(made.bytes).subarray(0, made.bodyOffset).toString()).toContain('base64');
  });
});
