/** The MIME parts of messages and their offsets, compared with postal-mime; also messages made to mislead or slow a parser. */
import fc from 'fast-check';
import PostalMime from 'postal-mime';
import { describe, expect, it } from 'vitest';
import { growthOf } from '../../test/growth/growth.ts';
import {
  bodyOf,
  fieldOf,
  MAX_DEPTH,
  MAX_PARTS,
  type MimePart,
  ownParts,
  readMime,
  readMimeInSteps,
  walkParts,
} from './mime-tree.ts';

const mail = (...lines: string[]) => Buffer.from(lines.join('\r\n'), 'latin1');
const body = ({ source, bodyStart, end }: MimePart) => source.toString('latin1', bodyStart, end);
const MIXED = 'Content-Type: multipart/mixed; boundary=b';

/** Type and, of a leaf, its body; of others their parts. */
type Shape = [type: string, inside: string | readonly Shape[]];
function shape(part: MimePart): Shape {
  return [part.type, part.parts.length === 0 ? body(part) : part.parts.map(shape)];
}
const bodies = (bytes: Uint8Array) => readMime(bytes).parts.map(body);

describe('the parts of a message', () => {
  it('lie between the boundary lines, without the line end before them', () => {
    const bytes = mail(
      MIXED,
      '',
      'preamble',
      '--b',
      'X: y',
      '',
      'one',
      '',
      '--b  ',
      '',
      '--b',
      '--b--',
      'epilogue',
    );
    const root = readMime(bytes);
    expect(root.parts.map(body)).toEqual(['one\r\n', '', '']);
    const [first] = root.parts;
    expect(first && [fieldOf(first, 'x'), first.type, first.encoding]).toEqual(['y', 'text/plain', '7bit']);
    expect(bytes.toString('latin1', first?.start, first?.end)).toBe('X: y\r\n\r\none\r\n');
  });

  it('are found by the boundary that the header names, and by no longer one', () => {
    for (const type of [
      'multipart/mixed; x-note="; boundary=other"; boundary=b',
      'multipart/mixed; x-note="\\"; boundary=other"; Boundary="b"',
      'multipart/mixed (a comment); boundary=b; boundary=c',
      'MULTIPART/mixed;\r\n\tboundary=b',
    ])
      expect(
        bodies(mail(`Content-Type: ${type}`, '', '--b', '', 'x', '--bb', '--b-', '--bx--', '--b--')),
      ).toEqual(['x\r\n--bb\r\n--b-\r\n--bx--']);
  });

  it('of multiparts whose boundaries begin alike stay apart', () => {
    const inner = [
      'Content-Type: multipart/alternative; boundary="b-"',
      '',
      '--b-',
      '',
      '1',
      '--b-',
      '',
      '2',
      '--b---',
    ];
    expect(shape(readMime(mail(MIXED, '', '--b', ...inner, '--b', '', '3', '--b--')))).toEqual([
      'multipart/mixed',
      [
        [
          'multipart/alternative',
          [
            ['text/plain', '1'],
            ['text/plain', '2'],
          ],
        ],
        ['text/plain', '3'],
      ],
    ]);
  });

  it('end with the part around them where their closing line is missing', () => {
    const inner = ['Content-Type: multipart/mixed; boundary=c', '', '--c', '', '1'];
    expect(shape(readMime(mail(MIXED, '', '--b', ...inner, '--b', '', '2', '--c', '')))).toEqual([
      'multipart/mixed',
      [
        ['multipart/mixed', [['text/plain', '1']]],
        ['text/plain', '2\r\n--c\r\n'],
      ],
    ]);
  });

  it('may end in the middle of a header', () => {
    const root = readMime(
      mail(MIXED, '', '--b', 'Content-Type: message/rfc822', '', 'Subject: s', '--b', '', '2'),
    );
    expect(shape(root)).toEqual([
      'multipart/mixed',
      [
        ['message/rfc822', [['text/plain', '']]],
        ['text/plain', '2'],
      ],
    ]);
  });

  it('are the same with bare line feeds, and a bare carriage return ends no line', () => {
    const lines = [MIXED, '', '--b', 'A: 1', '', 'x', '--b', '', 'y', '--b--', ''];
    expect(bodies(Buffer.from(lines.join('\n')))).toEqual(['x', 'y']);
    expect(bodies(Buffer.from(lines.join('\r')))).toEqual([]);
    expect(bodies(mail(MIXED, '', '--b', '', 'x\r--b\ry', '--b--'))).toEqual(['x\r--b\ry']);
  });

  it('of a digest are messages, and messages inside are no parts of this one', () => {
    const root = readMime(
      mail('Content-Type: multipart/digest; boundary=b', '', '--b', '', 'Subject: in', '', 'x', '--b--'),
    );
    expect([...walkParts(root)].map(({ type }) => type)).toEqual([
      'multipart/digest',
      'message/rfc822',
      'text/plain',
    ]);
    expect([...ownParts(root)].map(({ type }) => type)).toEqual(['multipart/digest', 'message/rfc822']);
    // Whoever encodes a message against RFC 2046 §5.2.1 has it read as a file.
    const encoded = readMime(
      mail('Content-Type: message/rfc822', 'Content-Transfer-Encoding: BASE64', '', 'QTogYg=='),
    );
    expect([encoded.parts.length, bodyOf(encoded, 100).toString()]).toEqual([0, 'A: b']);
  });
});

describe('a line', () => {
  /** The bodies of the parts of `boundary` around one part, with `line` between two texts in it. */
  const read = (boundary: string, line: string) =>
    bodies(
      Buffer.from(
        `Content-Type: multipart/mixed; boundary="${boundary}"\r\n\r\n--${boundary}\r\n\r\n1\r\n${line}`,
      ),
    );

  it.each([
    ['with blanks behind the boundary', 'b', '--b \t \r\n\r\n2', ['1', '2']],
    ['with blanks behind a closing boundary', 'b', '--b--\t \r\n2', ['1']],
    ['of a boundary at the end of the text', 'b', '--b', ['1', '']],
    ['of a boundary at the end of the text, with half a line end', 'b', '--b \r', ['1', '']],
    ['of a closing boundary at the end of the text', 'b', '--b--', ['1']],
    ['of a boundary and one hyphen', 'b', '--b-\r\n\r\n2', ['1\r\n--b-\r\n\r\n2']],
    ['of a boundary and three hyphens', 'b', '--b---\r\n\r\n2', ['1\r\n--b---\r\n\r\n2']],
    ['with a blank before the closing hyphens', 'b', '--b --\r\n\r\n2', ['1\r\n--b --\r\n\r\n2']],
    ['with two carriage returns', 'b', '--b\r\r\n\r\n2', ['1\r\n--b\r\r\n\r\n2']],
    ['with the beginning of the boundary only', 'bcd', '--bc\r\n\r\n2', ['1\r\n--bc\r\n\r\n2']],
    ['of a boundary that ends in a blank', 'b ', '--b  \r\n\r\n2', ['1', '2']],
    ['without the blank that its boundary ends in', 'b ', '--b\r\n\r\n2', ['1\r\n--b\r\n\r\n2']],
    ['of hyphens that are the boundary', '--', '----\r\n\r\n2', ['1', '2']],
    ['of hyphens that close it', '--', '------\r\n\r\n2', ['1']],
    ['of a boundary that is not ASCII', '\u00fc', '--\u00fc\r\n\r\n2', ['1', '2']],
  ])('%s', (_, boundary, text, expected) => {
    expect(read(boundary, text)).toEqual(expected);
  });

  it('belongs to the innermost of the multiparts whose boundary it is', () => {
    const nest = (...names: string[]) =>
      names.map((name) => `Content-Type: multipart/mixed; boundary="${name}"\r\n\r\n--${name}\r\n`).join('');
    const deepest = (...lines: string[]) => {
      let part = readMime(Buffer.from(`${nest('b', 'b--', 'b', 'b ')}\r\n1\r\n${lines.join('\r\n')}`));
      const counts: number[] = [];
      for (; part.parts.length > 0; part = part.parts[0] as MimePart) counts.push(part.parts.length);
      return counts;
    };
    expect(deepest('--b  ', '', '2')).toEqual([1, 1, 1, 2]);
    expect(deepest('--b', '', '2')).toEqual([1, 1, 2, 1]);
    // It closes the third and is the boundary of the second.
    expect(deepest('--b--', '', '2')).toEqual([1, 1, 1, 1]);
    expect(deepest('--b--', '--b--', '', '2')).toEqual([1, 2, 1, 1]);
    expect(deepest('--b--', '--b----', '--b', '', '2')).toEqual([2, 1, 1, 1]);
  });
});

describe('a large message', () => {
  const nest = (depth: number) =>
    Array.from(
      { length: depth },
      (_, i) =>
        `Content-Type: multipart/mixed; boundary=${'b'.repeat(i + 1)}\r\n\r\n--${'b'.repeat(i + 1)}\r\n`,
    ).join('');

  it.each([
    ['in a body', '--\r\n'],
    ['in a body, alike', '--bbbbbbbbbbbbbbbbx\r\n'],
    ['in a header', 'a: b\r\n--\r\n'.repeat(30)],
  ])('takes the same time however many boundaries are open: %s', async (where, line) => {
    const growth = await growthOf((depth) => {
      const [before, after] = where === 'in a header' ? [`--${'b'.repeat(depth)}\r\n`, ''] : ['', '\r\n'];
      return readMime(
        Buffer.from(`${nest(depth)}${after}${`${before}${line}`.repeat(1_500_000 / line.length)}`),
      );
    }, MAX_DEPTH / 4);
    expect(growth ?? 1).toBeLessThan(2);
  });

  it('is read in steps, to the same parts wherever a step ends', () => {
    const stepOctets = 128 * 1024;
    for (const line of ['--\r\n', '\n-', '-', 'text\r\n'])
      for (let more = 0; more < 12; more += 1) {
        const head = 'Content-Type: multipart/mixed; boundary=bc\r\n\r\n';
        const fill = line.repeat(stepOctets / line.length).slice(0, stepOctets - 6 + more);
        const steps = readMimeInSteps(
          Buffer.from(`${head}${fill}\r\n--bc\r\n\r\n1\r\n${fill.repeat(3)}\r\n--bc--\r\n`),
        );
        let count = 1;
        let step = steps.next();
        for (; step.done !== true; step = steps.next()) count += 1;
        expect(count).toBeGreaterThan(4);
        expect(step.value.parts.map(body)).toEqual([`1\r\n${fill.repeat(3)}`]);
      }
  });
});

describe('what is too much', () => {
  it('is left out, and said', () => {
    const levels = [
      (_: number) => 'Content-Type: message/rfc822\r\n\r\n',
      (i: number) => `Content-Type: multipart/mixed; boundary=b${i}\r\n\r\n--b${i}\r\n`,
    ];
    for (const level of levels) {
      const text = Array.from({ length: 1000 }, (_, i) => level(i)).join('');
      const parts = [...walkParts(readMime(Buffer.from(text)))];
      expect(parts.map(({ cut }) => cut)).toEqual([...Array.from({ length: MAX_DEPTH }, () => false), true]);
    }
    const wide = readMime(Buffer.from(`${MIXED}\r\n\r\n${'--b\r\n\r\nx\r\n'.repeat(5000)}`));
    expect([wide.parts.length, wide.cut, wide.parts.every((part) => body(part) === 'x')]).toEqual([
      MAX_PARTS - 1,
      true,
      true,
    ]);
    const header = 'a: b\r\n'.repeat(1900);
    const full = readMime(Buffer.from(`${MIXED}\r\n\r\n${`--b\r\n${header}\r\nx\r\n`.repeat(50)}`));
    expect([full.parts.length, full.cut]).toEqual([11, true]);
  });
});

/** Every offset inside the text and inside the part around it, children in order, fields inside the header. */
function expectInside(part: MimePart, from: number, to: number): void {
  const { start, header, bodyStart, end, parts } = part;
  expect(from <= start && start <= header.headerEnd && header.headerEnd <= bodyStart).toBe(true);
  expect(bodyStart <= end && end <= to).toBe(true);
  let at = start;
  for (const field of header.fields) {
    expect(at <= field.start && field.start < field.valueStart && field.valueStart <= field.end).toBe(true);
    at = field.end;
  }
  expect(at).toBeLessThanOrEqual(header.headerEnd);
  at = bodyStart;
  for (const child of parts) {
    expectInside(child, at, end);
    at = child.end;
  }
}

describe('any octets', () => {
  const piece = fc.oneof(
    fc.uint8Array({ maxLength: 20 }).map((octets) => Buffer.from(octets).toString('latin1')),
    fc.constantFrom(
      '--b\r\n',
      '--b--\r\n',
      '--bb\n',
      '\r\n--b',
      '--',
      '\r',
      '\n',
      '\r\n\r\n',
      `${MIXED}\r\n\r\n`,
      'Content-Type: multipart/digest; boundary="bb"\r\n\r\n',
      'Content-Type: message/rfc822\r\n\r\n',
      'a: b\r\n',
    ),
  );
  it('leave offsets inside the text, each part inside the one around it', () => {
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
        const bytes = Buffer.from(`${MIXED}\r\n\r\n${pieces.join('')}`, 'latin1');
        expectInside(readMime(bytes), 0, bytes.length);
      }),
      { numRuns: 2000 },
    );
  });
});

describe('a well-formed message', () => {
  interface Drawn {
    type: string;
    text: string;
    parts: readonly Drawn[];
    quoted: boolean;
    preamble: string;
    epilogue: string;
  }
  const text = fc
    .array(fc.oneof(fc.string({ maxLength: 12 }), fc.constantFrom('--', '-- ', '--b', '--bb1', '')), {
      maxLength: 4,
    })
    .map((lines) => lines.map((line) => line.replace(/[\r\n]/g, '')).join('\r\n'));
  const drawn = fc.letrec<{ drawn: Drawn }>((tie) => ({
    drawn: fc.record({
      type: fc.constantFrom('text/plain', 'text/html', 'application/pdf', 'image/png'),
      text,
      parts: fc.oneof(
        { depthSize: 'small' },
        fc.constant([]),
        fc.array(tie('drawn'), { minLength: 1, maxLength: 3 }),
      ),
      quoted: fc.boolean(),
      preamble: fc.constantFrom('', 'preamble\r\n', '--\r\n'),
      epilogue: fc.constantFrom('', '\r\nepilogue', '\r\n'),
    }),
  })).drawn;
  /** Boundaries of one path are beginnings of each other. */
  function write(one: Drawn, depth: number): string {
    if (one.parts.length === 0) return `Content-Type: ${one.type}\r\n\r\n${one.text}`;
    const boundary = `=_${'b'.repeat(depth + 1)}`;
    const name = one.quoted ? `"${boundary}"` : boundary.replace('=', '');
    const line = `--${name.replaceAll('"', '')}`;
    const parts = one.parts.map((part) => `${line}\r\n${write(part, depth + 1)}\r\n`).join('');
    return `Content-Type: multipart/mixed; x="; boundary=z"; boundary=${name}\r\n\r\n${one.preamble}${parts}${line}--${one.epilogue}`;
  }
  function drawnShape(one: Drawn): Shape {
    return one.parts.length === 0 ? [one.type, one.text] : ['multipart/mixed', one.parts.map(drawnShape)];
  }
  interface Node {
    contentType: { parsed: { value: string } };
    childNodes: Node[];
    content: ArrayBuffer | Uint8Array | null;
  }
  function nodeTypes(node: Node): unknown {
    return [node.contentType.parsed.value, node.childNodes.map(nodeTypes)];
  }
  const types = (part: MimePart): unknown => [part.type, part.parts.map(types)];

  it('has the parts that were written, and that postal-mime finds', async () => {
    await fc.assert(
      fc.asyncProperty(drawn, async (one) => {
        const bytes = Buffer.from(`From: a@example.com\r\n${write(one, 0)}`);
        const root = readMime(bytes);
        expect(shape(root)).toEqual(drawnShape(one));
        const parser = new PostalMime();
        await parser.parse(new Uint8Array(bytes));
        expect(types(root)).toEqual(nodeTypes((parser as unknown as { root: Node }).root));
      }),
      { numRuns: 500 },
    );
  });
});
