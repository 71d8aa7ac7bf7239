/** Links in HTML: which are replaced, which are not, and that nothing else changes, according to an independent parser. */
import fc from 'fast-check';
import PostalMime from 'postal-mime';
import { describe, expect, it } from 'vitest';
import { cpuMsOf } from '../../../test/fakes/thread-cpu.ts';
import { createPersonalTokens, targetDigest } from '../../mail/personal-token.ts';
import { fillSlots, type PersonalOptions, placeholder, slotOctets } from '../../model/personal.ts';
import { type ComposeInput, compose } from './compose.ts';
import { findLinks } from './html-links.ts';
import { personalHtml } from './personal-html.ts';

const BASE = 'https://track.example.com';
const both = { base: BASE, opens: true, clicks: true };
const targets = (html: string) => findLinks(html, 1024).links.map(({ target }) => target);
/** Our links taken out again: what is left must be the original. */
function undo(text: string): string {
  return text
    .replace(
      /<img src="https:\/\/track\.example\.com\/o\/0{32}" width="1" height="1" alt="" style="border:0">/,
      '',
    )
    .replace(/https:\/\/track\.example\.com\/c\/0{32}\/([A-Za-z0-9_-]+)/g, (_all, encoded: string) =>
      Buffer.from(encoded, 'base64url').toString('latin1'),
    );
}

describe('links that are tracked', () => {
  it.each([
    ['<a href="https://x.example/a?b=1&amp;c=2">', 'https://x.example/a?b=1&c=2'],
    ["<A HREF='http://x.example'>", 'http://x.example/'],
    ['<a class=x href=https://x.example/p title=y>', 'https://x.example/p'],
    ['<area href="https://x.example/m">', 'https://x.example/m'],
    ['<a href=" \n https://x.example/\tb ">', 'https://x.example/b'],
    ['<a title="a > b" href="https://x.example/">', 'https://x.example/'],
    ['<a href="https://münchen.example/ä?ö=ü">', 'https://xn--mnchen-3ya.example/%C3%A4?%C3%B6=%C3%BC'],
    ['<!-- > <a href="https://no.example/"> --><a href="https://x.example/1">', 'https://x.example/1'],
    [`<a href="https://x.example/${'p'.repeat(2000)}">`, `https://x.example/${'p'.repeat(2000)}`],
    ['<!--><a href="https://x.example/2">', 'https://x.example/2'],
  ])('%s', (html, target) => {
    expect(targets(html)).toEqual([target]);
  });
});

describe('links that are left alone', () => {
  it.each([
    '<a href="mailto:a@b.example">',
    '<a href="tel:+4912345">',
    '<a href="#top">',
    '<a href="/relative">',
    '<a href="//host.example/x">',
    '<a href="cid:logo">',
    '<a href="javascript:alert(1)">',
    '<a href="">',
    '<a>',
    '<a data-no-track href="https://x.example/">',
    '<a href="https://x.example/" data-no-track="">',
    '<a href="https://x.example/unsubscribe?u=1">',
    '<a rel="unsubscribe" href="https://x.example/">',
    '<a href="https://user:secret@x.example/">',
    '<a href="https://">',
    '<a href="https://x.example/{{name}}">',
    `<a href="https://x.example/${'p'.repeat(9000)}">`,
    '<link href="https://x.example/style.css">',
    '<!-- <a href="https://x.example/"> -->',
    '<style>a { } <a href="https://x.example/"></style>',
    '<script>"<a href=https://x.example/>"</script>',
    '<textarea><a href="https://x.example/"></textarea>',
    '<a href="https://x.example/',
    '<a href="https://x.example/"',
    '<img alt="<a href=&quot;" src="https://x.example/">',
  ])('%s', (html) => {
    expect(personalHtml(html, { ...both, opens: false })).toEqual({ text: html, places: [] });
  });
});

describe('the pixel', () => {
  it.each([
    ['<body><p>x</p></body>', /<p>x<\/p><img [^>]*><\/body>$/],
    ['<p>x</p>', /<p>x<\/p><img [^>]*>$/],
    ['<html>x</html>', /x<img [^>]*><\/html>$/],
    ['</body>a</body>', /^<\/body>a<img [^>]*><\/body>$/],
  ])('goes to the end of %s', (html, expected) => {
    expect(personalHtml(html, { ...both, clicks: false }).text).toMatch(expected);
  });

  it('is not put where a comment or a script would swallow it', () => {
    for (const html of ['<p>x<!-- open', '<script>x', '<p title="x', '<plaintext>x']) {
      expect(personalHtml(html, both).places).toEqual([]);
    }
  });
});

const piece = fc.oneof(
  {
    weight: 3,
    arbitrary: fc
      .webUrl({ withQueryParameters: true, withFragments: true })
      .map((url) => `<a href="${url.replaceAll('&', '&amp;').replaceAll('"', '&quot;')}">é 👩‍🚀</a>`),
  },
  fc.string({ unit: 'binary', maxLength: 80 }),
  fc.constantFrom(
    '<',
    '>',
    '"',
    "'",
    '=',
    '\r\n',
    '\n',
    ' ',
    '\t',
    '<!--',
    '-->',
    '<a href=',
    '</a>',
    '<style>',
    '</style>',
    '<a href=https://x.example/a?b=c>',
    "<a\nhref='https://y.example/&lt;'>",
    '</body>',
    '日本語 ',
    '=3D',
    '0'.repeat(32),
    `<a href="https://x.example/${'q'.repeat(2000)}">`,
  ),
);
const anyHtml = fc.array(piece, { maxLength: 25 }).map((pieces) => pieces.join(''));

describe('any HTML', () => {
  it('comes back by taking our links out again', () => {
    fc.assert(
      fc.property(anyHtml, fc.boolean(), fc.boolean(), (html, opens, clicks) => {
        const { text, places } = personalHtml(html, { base: BASE, opens, clicks });
        const { links } = findLinks(html, clicks ? 1024 : 0);
        // Values by their targets on one side; on the other the targets that our links carry.
        let original = '';
        let at = 0;
        for (const { start, end, bare, target } of links) {
          original += `${html.slice(at, start)}${bare ? '"' : ''}${target}${bare ? '"' : ''}`;
          at = end;
        }
        const back = undo(text);
        // A placeholder that the sender wrote is the sender's; only ours are counted.
        expect(places.filter(({ kind }) => kind === 'click').length).toBe(links.length);
        if (!html.includes('track.example.com')) expect(back).toBe(original + html.slice(at));
        for (const { kind, offset } of places) {
          expect(text.slice(offset, offset + slotOctets(kind))).toBe(placeholder(kind));
        }
      }),
      { numRuns: 400 },
    );
  });

  it('is read in time that grows with its length only', () => {
    for (const hostile of [
      '<!--',
      '<a ',
      '<a href="',
      '<style>',
      '</',
      '<a href=x ',
      '-',
      '<!-- --',
      '"',
      '<x',
    ]) {
      const html = hostile.repeat(200_000);
      expect(cpuMsOf(() => void findLinks(html, 1024))).toBeLessThan(2_000);
    }
  });
});

const TOKENS = createPersonalTokens([{ id: 3, secret: new Uint8Array(32).fill(9) }]);
const OPTIONS: PersonalOptions = {
  base: BASE,
  reach: 'one-click',
  host: 'track.example.com',
  opens: true,
  clicks: true,
  unsubscribe: true,
  mailtoDomain: 'bounce.example.org',
};
const INPUT: ComposeInput = {
  messageId: '0193a1b2-7c3d-7e4f-8a5b-6c7d8e9f0a1b',
  fromDomain: 'example.com',
  dateMs: 1_795_000_000_000,
  from: { name: 'Ünïcode', address: 'a@example.com' },
  to: [{ name: '', address: 'b@example.net' }],
  cc: [],
  replyTo: [],
  subject: 'S',
  body: { kind: 'text', text: '' },
  headers: [],
  attachments: [],
};

describe('a composed message with places', () => {
  it('has each token where it says, whole on its line, for any HTML and both personalities', async () => {
    await fc.assert(
      fc.asyncProperty(anyHtml, fc.boolean(), async (html, withFile) => {
        const composed = compose({
          ...INPUT,
          body: { kind: 'html', html, text: 'plain' },
          attachments: withFile
            ? [
                {
                  content: new Uint8Array(9),
                  type: '',
                  filename: 'f',
                  disposition: 'attachment',
                  contentId: null,
                },
              ]
            : [],
          personal: OPTIONS,
        });
        const { bytes, places } = composed;
        if (places === undefined) throw new Error('an unsubscribe link was asked for');
        const offsets = places.places.map(({ offset }) => offset);
        expect(offsets).toEqual([...offsets].sort((a, b) => a - b));
        const texts = places.places.map(({ kind, link, digest }) =>
          kind === 'mailto'
            ? `u-${'7'.repeat(31)}`
            : TOKENS.make(
                { purpose: kind === 'click' ? 'c' : kind === 'open' ? 'o' : 'u', host: 'h', digest },
                7,
                link,
              ),
        );
        for (const [i, { kind, offset }] of places.places.entries()) {
          const before = Buffer.from(bytes.subarray(offset, offset + slotOctets(kind))).toString('latin1');
          expect([i, before]).toEqual([i, placeholder(kind)]);
        }
        const filled = fillSlots(bytes, places, texts);
        expect(filled.length).toBe(bytes.length);
        const text = Buffer.from(filled).toString('latin1');
        for (const line of text.split('\r\n')) expect(line.length).toBeLessThanOrEqual(998);
        const body = text.slice(composed.bodyOffset);
        for (const line of body.split('\r\n')) expect(line.length).toBeLessThanOrEqual(76);
        const mail = await PostalMime.parse(new Uint8Array(filled));
        const seen = `${mail.html ?? ''} ${mail.headers.find(({ key }) => key === 'list-unsubscribe')?.value}`;
        for (const token of texts) expect(seen.includes(token)).toBe(true);
        const decoded = (mail.html ?? '').replaceAll('\r\n', '\n').trimEnd();
        const expected = personalHtml(html, OPTIONS);
        let wanted = expected.text;
        expected.places.forEach(({ offset, kind }, i) => {
          const token = texts[i + 2] ?? '';
          wanted = wanted.slice(0, offset) + token + wanted.slice(offset + slotOctets(kind));
        });
        const clean = wanted.toWellFormed().replace(/\r\n?/g, '\n').trimEnd();
        if (expected.places.length > 0) expect(decoded.replaceAll('\0', '')).toBe(clean.replaceAll('\0', ''));
      }),
      { numRuns: 120 },
    );
  });

  it('has the very bytes of one without, where nothing was asked for', () => {
    const body = { kind: 'html', html: '<a href="https://x.example/">x</a>', text: null } as const;
    const plain = compose({ ...INPUT, body });
    const none = compose({
      ...INPUT,
      body,
      personal: { ...OPTIONS, opens: false, clicks: false, unsubscribe: false },
    });
    expect(Buffer.compare(plain.bytes, none.bytes)).toBe(0);
    expect([plain.places, none.places]).toEqual([undefined, undefined]);
    expect(targetDigest('https://x.example/')).toHaveLength(22);
  });
});
