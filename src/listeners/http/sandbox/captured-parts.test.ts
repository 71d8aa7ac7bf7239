import { describe, expect, it } from 'vitest';
import { cpuMsOf } from '../../../../test/fakes/thread-cpu.ts';
import { pageOf } from './captured-page.ts';
import { downloadAs, readCapturedFile, readCapturedPage, safeFilename } from './captured-parts.ts';

const bytes = (lines: string[]) => new TextEncoder().encode(lines.join('\r\n'));
const MAIL = bytes([
  'Subject: x',
  'MIME-Version: 1.0',
  'Content-Type: multipart/related; boundary=b',
  '',
  '--b',
  'Content-Type: text/html',
  '',
  '<img src="cid:logo@x"><img src=CID:logo%40x><img src="cid:page"><img src="cid:none">',
  '--b',
  'Content-Type: image/png',
  'Content-ID: <logo@x>',
  'Content-Disposition: inline; filename="../../etc/passwd"',
  'Content-Transfer-Encoding: base64',
  '',
  'aGk=',
  '--b',
  'Content-Type: text/html; name="a.html"',
  'Content-ID: <page>',
  'Content-Disposition: attachment; filename="a.html"',
  '',
  '<script>1</script>',
  '--b--',
]);

describe('the page of a captured message', () => {
  it('brings its pictures along, and nothing that is no picture', async () => {
    const page = (await readCapturedPage(MAIL)) ?? '';
    expect(page).toContain('<img src="data:image/png;base64,aGk="><img src=data:image/png;base64,aGk=>');
    expect(page).toContain('<img src="cid:page"><img src="cid:none">');
    expect(page.indexOf('Content-Security-Policy')).toBeLessThan(page.indexOf('<img'));
  });

  it('shows a text as a text', async () => {
    const page = await readCapturedPage(bytes(['Subject: x', '', '<script>alert(1)</script> & more']));
    expect(page).toContain('&lt;script&gt;alert(1)&lt;/script&gt; &amp; more');
  });

  it('has no element that connects before a policy is asked', () => {
    const hostile =
      '<LINK rel=preconnect href=//e><meta\nhttp-equiv=refresh><base/href=//e></base><!--<link>--><linked><iFrame\nsrc=//e></iframe>';
    const page = pageOf(hostile, new Map());
    expect(page.split('\n').slice(1).join('\n')).toBe(
      '<x-LINK rel=preconnect href=//e><x-meta\nhttp-equiv=refresh><x-base/href=//e></x-base><!--<x-link>--><linked><x-iFrame\nsrc=//e></x-iframe>',
    );
  });

  it.each([
    'href="javascript:alert(1)"',
    'href=javascript:alert(1)',
    "HREF = ' \tjAvAsCrIpT:alert(1)'",
    'href="java&#115;cript:alert(1)"',
    'href="&#106;avascript&colon;alert(1)"',
    'href="java\nscript:alert(1)"',
    'href="\u0001javascript:alert(1)"',
    'xlink:href="vbscript:x"',
    'formaction="data:text/html,<script>1</script>"',
    'src="DATA:text/html;base64,x"',
    'href="filesystem:x"',
    `href="${'a'.repeat(300)}:x"`,
    `title='href="' href=javascript:alert(1)`,
  ])('leads to nothing that runs: %j', (attribute) => {
    const page = pageOf(`<a ${attribute}>a</a>`, new Map());
    expect(page).toMatch(/x-(?:href|src|action)\s*=\s*['"]?[^"'>]*[:;]/i);
    expect(page.replace(/x-(?:href|src|action)/gi, '')).not.toMatch(
      /(?:href|src|action)\s*=\s*['"]?[^"'>]*:/i,
    );
  });

  it('keeps links that lead somewhere', () => {
    const html =
      '<a href="https://a.example/b:c">a</a><a href=mailto:a@b.example>a</a><a href="#x">a</a><a href="page.html">a</a><a href=x.html>a</a><a href="">a</a><img src="data:image/png;base64,aGk="><p title="javascript:x">href</p>';
    expect(pageOf(html, new Map())).toContain(html);
  });

  it('has no element that puts a target in afterwards', () => {
    const page = pageOf(
      '<svg><a><SET attributeName=href to=javascript:1 /><animate></svg><setting>',
      new Map(),
    );
    expect(page).toContain('<x-SET attributeName');
    expect(page).toContain('<x-animate><');
    expect(page).toContain('<setting>');
  });

  it('repeats a picture only so often', () => {
    const picture = `data:image/png;base64,${'A'.repeat(10 * 1024 * 1024)}`;
    const page = pageOf('<img src="cid:a">'.repeat(50), new Map([['a', picture]]));
    expect(page.length).toBeLessThan(50 * 1024 * 1024);
    expect(page.match(/cid:a/g)).toHaveLength(46);
  });
});

describe('a file of a captured message', () => {
  it('is found by its place, with a name that leads nowhere', async () => {
    expect(await readCapturedFile(MAIL, 0)).toEqual({
      filename: 'passwd',
      type: 'image/png',
      content: new TextEncoder().encode('hi'),
    });
    expect((await readCapturedFile(MAIL, 1))?.type).toBe('text/html');
    expect(await readCapturedFile(MAIL, 2)).toBeNull();
  });

  it.each([
    ['../../etc/passwd', 'passwd'],
    ['C:\\windows\\x.exe', 'x.exe'],
    ['.htaccess', 'htaccess'],
    ['a\r\nb"c;d.txt', 'ab_c_d.txt'],
    ['invoice\u202efdp.exe', 'invoicefdp.exe'],
    ['..', 'attachment-3'],
    ['. a. \u3000', 'a'],
    [`a.pdf${'.'.repeat(80_000)}`, 'a.pdf'],
    [`${'.'.repeat(80_000)}a`, 'a'],
    [`${'.'.repeat(80_000)}"`, '_'],
    ['', 'attachment-3'],
    ['Grüße 😀.pdf', 'Grüße 😀.pdf'],
    [`${'x'.repeat(400)}.pdf`, `${'x'.repeat(146)}.pdf`],
  ])('%j is saved as %j', (given, saved) => {
    expect(safeFilename(given, 3)).toBe(saved);
  });

  it('is named at once, whatever its name: a quadratic expression took seconds', () => {
    const names = ['.', ' ', '. ', '.a', '/', '\\', ':', '\u0301', '\u202e'].flatMap((piece) => [
      piece.repeat(400_000 / piece.length),
      `${piece.repeat(400_000 / piece.length)}"`,
    ]);
    expect(cpuMsOf(() => names.map((name) => safeFilename(name, 0)))).toBeLessThan(1_500);
  });

  it('is named in both spellings', () => {
    expect(downloadAs("Grüße (1)'s.pdf")).toBe(
      `attachment; filename="Gr__e (1)'s.pdf"; filename*=UTF-8''Gr%C3%BC%C3%9Fe%20%281%29%27s.pdf`,
    );
    expect(downloadAs('\ud800.txt')).toBe(`attachment; filename="_.txt"; filename*=UTF-8''%EF%BF%BD.txt`);
  });
});
