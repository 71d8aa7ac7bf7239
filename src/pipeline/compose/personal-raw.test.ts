/** Personal links in messages that came with their own bytes: what changes, and that nothing else does. */
import fc from 'fast-check';
import PostalMime from 'postal-mime';
import { describe, expect, it } from 'vitest';
import { inOneGo } from '../../lib/turns.ts';
import { type PersonalOptions, placeholder, slotOctets } from '../../model/personal.ts';
import { personalRaw } from './personal-raw.ts';

const OPTIONS: PersonalOptions = {
  base: 'https://track.example.com',
  reach: 'one-click',
  host: 'track.example.com',
  opens: true,
  clicks: true,
  unsubscribe: true,
  mailtoDomain: null,
};
const LINK = '<a href="https://x.example/ä?a=1&amp;b=2">é</a>';

function raw(text: string, encoding: BufferEncoding = 'utf8') {
  const bytes = Buffer.from(text.replaceAll('\n', '\r\n'), encoding);
  return { bytes, bodyOffset: bytes.indexOf('\r\n\r\n') + 4 };
}

function check(message: ReturnType<typeof raw>, options = OPTIONS) {
  const made = inOneGo(personalRaw(message, options));
  const bytes = made === null ? message.bytes : Buffer.concat(made.parts);
  const bodyOffset = made?.bodyOffset ?? message.bodyOffset;
  const places = made?.places.places ?? [];
  for (const { kind, offset } of places) {
    const found = Buffer.from(bytes.subarray(offset, offset + slotOctets(kind))).toString('latin1');
    expect(found).toBe(placeholder(kind));
  }
  const text = bytes.toString('latin1');
  expect(text.slice(bodyOffset - 4, bodyOffset)).toBe('\r\n\r\n');
  return {
    added: made?.added ?? 0,
    places: made?.places,
    bytes,
    bodyOffset,
    text,
    kinds: places.map(({ kind }) => kind),
  };
}

const html = (encoding: string, body: string, charset = 'utf-8') =>
  `From: a@example.com\nContent-Type: text/html; charset=${charset}\n${encoding}\n${body}\n`;

describe('an HTML leaf', () => {
  it.each([
    ['8bit', raw(html('Content-Transfer-Encoding: 8bit\n', LINK))],
    [
      'quoted-printable',
      raw(
        html(
          'Content-Transfer-Encoding: Quoted-Printable\n',
          '<a href=3D"https://x.example/=C3=A4?a=3D1&amp;=\nb=3D2">=C3=A9</a>',
        ),
      ),
    ],
    ['base64', raw(html('Content-Transfer-Encoding: base64\n', Buffer.from(LINK).toString('base64')))],
  ])('in %s is rewritten as quoted-printable', async (_name, message) => {
    const made = check(message);
    expect(made.kinds).toEqual(['unsubscribe', 'click', 'open']);
    expect(made.text).toMatch(/Content-Transfer-Encoding: quoted-printable\r\n/);
    expect(made.text.match(/Content-Transfer-Encoding/gi)).toHaveLength(1);
    const mail = await PostalMime.parse(made.bytes);
    expect(mail.html).toMatch(/^<a href="https:\/\/track\.example\.com\/c\/0{32}\/[\w-]+">é<\/a>/);
  });

  it('of another charset keeps its octets', () => {
    const made = check(raw(html('', '<a href="https://x.example/">\xe9</a>', 'iso-8859-1'), 'latin1'));
    expect(made.kinds).toEqual(['unsubscribe', 'click', 'open']);
    expect(made.text).toContain('=E9</a>');
  });

  it.each(['koi8-r', 'iso-8859-1'])(
    'of %s keeps links beyond ASCII, whose characters are not read',
    (charset) => {
      const links = '<a href="https://x.example/\xd0"><a href="https://y.example/">';
      const made = check(raw(html('', links, charset), 'latin1'));
      expect(made.kinds).toEqual(['unsubscribe', 'click', 'open']);
      expect(made.text).toContain('<a href=3D"https://x.example/=D0">');
    },
  );

  it.each([
    ['more than anybody reads', raw(html('', LINK + 'x'.repeat(512 * 1024)))],
    ['an unknown charset', raw(html('', LINK, 'utf-16'))],
    ['an unknown encoding', raw(html('Content-Transfer-Encoding: x-uuencode\n', LINK))],
    ['broken quoted-printable', raw(html('Content-Transfer-Encoding: quoted-printable\n', '<a href=3Q>'))],
    ['plain text', raw('From: a@example.com\nContent-Type: text/plain\n\n<a href="https://x.example/">\n')],
  ])('of %s stays as it was', (_name, message) => {
    const made = check(message, { ...OPTIONS, unsubscribe: false });
    expect([made.kinds, Buffer.compare(made.bytes, message.bytes)]).toEqual([[], 0]);
  });
});

const PART = `Content-Type: text/html; charset=utf-8\n\n${LINK}`;
const multi = (subtype: string, ...parts: string[]) =>
  `From: a@example.com\nContent-Type: multipart/${subtype}; boundary="b1"\n\npreamble\n` +
  `${parts.map((part) => `--b1\n${part}\n`).join('')}--b1--\nepilogue\n`;

describe('parts beside it', () => {
  it('keep every octet, preamble and epilogue too', () => {
    const before = 'Content-Type: text/plain\nX-Odd:   kept  \n\n--b1x is no boundary  \n';
    const after = 'Content-Type: text/html\nContent-Disposition: attachment\n\n<a href="https://y.example/">';
    const message = raw(multi('mixed', before, PART, after));
    const made = check(message, { ...OPTIONS, unsubscribe: false });
    const text = message.bytes.toString('latin1');
    const start = text.indexOf('Content-Type: text/html; charset=utf-8');
    const end = text.indexOf('\r\n--b1', start);
    expect(made.kinds).toEqual(['click', 'open']);
    expect(made.text.startsWith(text.slice(0, start))).toBe(true);
    expect(made.text.endsWith(text.slice(end))).toBe(true);
    expect(made.bodyOffset).toBe(message.bodyOffset);
  });

  it.each(['signed; protocol="x/y"', 'encrypted'])('of multipart/%s are never touched', (subtype) => {
    const message = raw(multi(subtype, PART));
    const made = check(message, { ...OPTIONS, unsubscribe: false });
    expect(Buffer.compare(made.bytes, message.bytes)).toBe(0);
  });

  it.each([
    'multipart/mixed; x-note="; boundary=other"; boundary=b',
    'multipart/mixed; x-note="\\"; boundary=other"; Boundary="b"',
    'multipart/mixed (a comment); boundary=b',
  ])('are found by the boundary that the header names: %s', (type) => {
    const text = `From: a@example.com\nContent-Type: ${type}\n\n--b\nContent-Type: text/html; x="; charset=utf-7"; charset=utf-8\n\n${LINK}\n--b--\n`;
    expect(check(raw(text)).kinds).toEqual(['unsubscribe', 'click', 'open']);
  });

  it('number their links through, with one pixel in all', () => {
    const made = check(raw(multi('mixed', PART, PART)));
    expect(made.places?.places.map(({ kind, link }) => `${kind}${link}`)).toEqual([
      'unsubscribe0',
      'click0',
      'open0',
      'click1',
    ]);
  });
});

it('of a large message are found in steps', () => {
  const message = raw(
    `From: a@example.com\nContent-Type: multipart/mixed; boundary=b\n\n${'--\n'.repeat(300_000)}--b\nContent-Type: text/html; charset=utf-8\n\n${LINK}\n--b--\n`,
  );
  const steps = personalRaw(message, OPTIONS);
  let count = 1;
  let step = steps.next();
  for (; step.done !== true; step = steps.next()) count += 1;
  expect(count).toBeGreaterThan(8);
  expect(step.value?.places.places.length).toBeGreaterThan(2);
});

describe('the header', () => {
  it('gets the pair on top, the rest unchanged, unless the sender has one', () => {
    const message = raw('From: a@example.com\nSubject:  odd   \n\nbody\n');
    const made = check(message);
    expect(made.text.slice(made.added)).toBe(message.bytes.toString('latin1'));
    expect(made.bodyOffset).toBe(message.bodyOffset + made.added);
    const own = raw('From: a@example.com\nlist-UNSUBSCRIBE: <mailto:x@example.com>\n\nbody\n');
    expect(Buffer.compare(check(own).bytes, own.bytes)).toBe(0);
  });
});

describe('any bytes', () => {
  it('are taken without an exception, with every place where it says', () => {
    const piece = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 60 }),
      fc.constantFrom(
        '--b1\n',
        '--b1--\n',
        PART,
        '\n\n',
        'Content-Type: multipart/mixed; boundary=b1\n\n',
        'Content-Transfer-Encoding: base64\n',
        LINK,
        '=\n',
      ),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 20 }), (pieces) => {
        const head = 'From: a@example.com\nContent-Type: multipart/mixed; boundary=b1\n\n';
        check(raw(head + pieces.join('')));
      }),
      { numRuns: 400 },
    );
  });
});
