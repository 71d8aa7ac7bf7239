/** Escaping by place: what each place of HTML does to a hostile value, and where no value may stand at all. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeEntities } from '../html-entities.ts';
import { compileTemplate, fillTemplate } from './template.ts';
import { TemplateError } from './template-error.ts';

function html(source: string, variables: Record<string, unknown>): string | null {
  return fillTemplate(compileTemplate({ subject: null, html: source, text: null }), variables).html;
}
function refusal(source: string, variables: Record<string, unknown> = {}): string {
  try {
    return `allowed: ${html(source, variables)}`;
  } catch (error) {
    if (error instanceof TemplateError) return error.message;
    throw error;
  }
}

function mistake(work: () => unknown): TemplateError {
  try {
    work();
  } catch (error) {
    if (error instanceof TemplateError) return error;
    throw error;
  }
  throw new Error('nothing was refused');
}

const EVIL = `"'><script>x()</script>&\u0000\r\n`;

describe('a value', () => {
  it.each([
    ['text', '<p>{{x}}</p>', EVIL, '<p>&quot;&#39;&gt;&lt;script&gt;x()&lt;/script&gt;&amp;\n</p>'],
    ['title', '<title>{{x}}</title>', '</title><b>', '<title>&lt;/title&gt;&lt;b&gt;</title>'],
    ['double quotes', '<p title="{{x}}">', '" onload="x', '<p title="&quot; onload=&quot;x">'],
    ['single quotes', "<p title='a {{x}}'>", "' onload='", "<p title='a &#39; onload=&#39;'>"],
    ['no quotes', '<p title={{x}} id=a>', 'a b>c', '<p title="a b&gt;c" id=a>'],
    ['no quotes, empty', '<p title={{x}} id=a>', '', '<p title="" id=a>'],
    ['no quotes, behind text', '<p title=a{{x}}>', 'b c=`>', '<p title=ab&#32;c&#61;&#96;&#62;>'],
    ['no quotes, with a quote behind', '<p title={{x}}a"b>', 'v', '<p title="va&quot;b">'],
    ['raw', '<p>{{{x}}}</p>', '<b>1</b>', '<p><b>1</b></p>'],
    ['behind a comment', '<!-- a > b --><i>{{x}}', '<', '<!-- a > b --><i>&lt;'],
    ['behind an abrupt comment', '<!--><i title="{{x}}">', '"', '<!--><i title="&quot;">'],
    [
      'behind a script',
      '<script>if (a < b) "</scrip>"</script>{{x}}',
      '<',
      '<script>if (a < b) "</scrip>"</script>&lt;',
    ],
    ['behind a lone <', 'a < b {{x}}', '<', 'a < b &lt;'],
    ['a style attribute', '<p style="color: {{x}}">', '#fa0', '<p style="color: #fa0">'],
  ])('in %s', (_, source, x, result) => {
    expect(html(source, { x })).toBe(result);
  });

  it.each([
    ['a whole link', '{{x}}', 'https://a.example/b?c=d&e', 'https://a.example/b?c=d&amp;e'],
    ['a link with blanks', '{{x}}', ' https://a.example/a b ', 'https://a.example/a%20b'],
    ['a relative link', '{{x}}', '/a/b?c', '/a/b?c'],
    ['an address', 'mailto:{{x}}', 'a@example.com', 'mailto:a@example.com'],
    ['a path', 'https://a.example/{{x}}/z', 'b/c d"', 'https://a.example/b/c%20d%22/z'],
    ['the start of a path', '/{{x}}', '/evil.example', '/%2Fevil.example'],
    [
      'a query',
      'https://a.example/?t={{x}}&amp;u=1',
      'a&b=c#d',
      'https://a.example/?t=a%26b%3Dc%23d&amp;u=1',
    ],
    ['a fragment', '#{{x}}', 'a b', '#a%20b'],
    ['behind a word', 'java{{x}}', 'script:alert(1)', 'javascript%3Aalert(1)'],
    ['two in a row', '{{a}}{{x}}', 'script:alert(1)', 'javascript%3Aalert(1)'],
    ['base and path', '{{b}}/r?t={{x}}', 'a/b', 'https://a.example/r?t=a%2Fb'],
    ['encoded already', 'https://a.example/{{x}}', 'a%20b%', 'https://a.example/a%20b%25'],
  ])('in %s of a link', (_, link, x, result) => {
    const variables = { x, a: 'java', b: 'https://a.example' };
    for (const attribute of ['href', 'SRC', 'xlink:href', 'background']) {
      expect(html(`<a ${attribute}="${link}">`, variables)).toBe(`<a ${attribute}="${result}">`);
    }
  });

  it.each([
    'javascript:alert(1)',
    'JaVaScRiPt:alert(1)',
    ' \u0001javascript:x',
    'java\tscript:x',
    'java\nscript:x',
    'java\u00adscript:x',
    'vbscript:x',
    'data:text/html,x',
    'file:///etc/passwd',
    ':x',
  ])('is refused as a link: %j', (x) => {
    expect(refusal('<a href="{{x}}">', { x })).toContain('A link begins with http:');
    expect(refusal('<a href={{x}}>', { x })).toContain('A link begins with http:');
    expect(refusal('<a href="{{y | default: \'javascript:x\'}}">')).toContain('A link begins with http:');
  });

  it.each(['red;background:url(x)', 'expression(x)', 'a:b', '"', '\\75'])('is refused as style: %s', (x) => {
    expect(refusal('<p style="color:{{x}}">', { x })).toContain('In a style attribute');
  });
});

describe('the host of a link', () => {
  it.each([
    ['https://{{x}}/a', 1, 18],
    ['https:{{x}}', 1, 16],
    ['https:/{{x}}', 1, 17],
    ['//{{x}}/', 1, 12],
    ['/\t/{{x}}', 1, 13],
    ['https://{{x}}.example/', 1, 18],
    ['https://a.example{{x}}', 1, 27],
    ['https://a.example:{{x}}/', 1, 28],
    ['https://{{#y}}a.{{/y}}{{x}}', 1, 32],
  ])('is never a variable: %s', (link, line, column) => {
    const source = `<a href="${link}">`;
    expect(mistake(() => compileTemplate({ subject: null, html: source, text: null }))).toMatchObject({
      kind: 'syntax',
      line,
      column,
      message: expect.stringContaining('The host of a link'),
    });
  });

  it.each([
    ['{{#p}}/{{.}}{{/p}}', { p: ['', 'evil.example'] }, 17],
    ['/{{a}}/{{b}}', { a: '', b: 'evil.example' }, 17],
    ['{{a}}/{{b}}/{{c}}', { a: '', b: '', c: 'evil.example' }, 22],
    ['{{#a}}x{{/a}}/{{b}}/{{c}}', { b: '', c: 'evil.example' }, 30],
    ['{{a}}{{b}}', { a: 'https://a.example', b: '.evil.example' }, 15],
    ['{{a}}{{b}}', { a: 'https://a.example', b: '@evil.example' }, 15],
    ['{{#a}}https://a.example{{/a}}{{b}}', { a: 1, b: '.evil.example' }, 39],
    ['{{#a}}https{{/a}}{{^a}}http{{/a}}://{{b}}', { a: 1, b: 'evil.example' }, 46],
    ['{{a}}//{{b}}', { a: '', b: '/evil.example' }, 17],
  ])('is no variable by the way it is filled in: %s', (link, variables, column) => {
    expect(mistake(() => html(`<a href="${link}">`, variables))).toMatchObject({
      kind: 'value',
      line: 1,
      column,
      message: expect.stringContaining('The host of a link'),
    });
  });

  it.each([
    ['{{#p}}/{{.}}{{/p}}', { p: ['a', '/b', ''] }, '/a//b/'],
    ['/{{a}}/{{b}}', { a: 'de', b: 'evil.example' }, '/de/evil.example'],
    ['{{a}}/{{b}}/{{c}}', { a: 'https://a.example', b: '', c: 'c' }, 'https://a.example//c'],
    ['{{a}}{{b}}', { a: 'https://a.example', b: '/b:c?d' }, 'https://a.example/b:c?d'],
    ['https://a.example/x{{#p}}?q={{p}}{{/p}}', { p: '/?&' }, 'https://a.example/x?q=%2F%3F%26'],
    ['https://a.example/{{#p}}{{.}}/{{/p}}', { p: ['a', 'b'] }, 'https://a.example/a/b/'],
  ])('leaves %s alone where it is none', (link, variables, result) => {
    expect(html(`<a href="${link}">`, variables)).toBe(`<a href="${result}">`);
  });

  it('stays what it was for any values behind it', () => {
    const links = [
      '/{{a}}/{{b}}/{{c}}',
      '{{#l}}/{{.}}{{/l}}',
      '/{{#l}}{{.}}/{{/l}}',
      'x{{a}}{{b}}/{{c}}',
      'https://base.example{{#l}}/{{.}}{{/l}}',
      'https://base.example/{{a}}{{b}}?{{c}}',
      '{{^z}}https://base.example/{{/z}}{{#l}}{{.}}{{/l}}',
    ].map((link) => compileTemplate({ subject: null, html: `<a href="${link}">`, text: null }));
    const unit = fc.constantFrom('/', '\\', ':', '.', '@', 'e', '?', '#', '\t', '&', ' ', '%');
    const value = fc.string({ unit, maxLength: 5 });
    const values = fc.record({ a: value, b: value, c: value, l: fc.array(value, { maxLength: 3 }) });
    fc.assert(
      fc.property(fc.constantFrom(...links), values, (link, variables) => {
        try {
          const written = (fillTemplate(link, variables).html ?? '').slice(9, -2);
          expect(new URL(decodeEntities(written), 'https://base.example/').host).toBe('base.example');
        } catch (error) {
          // A URL that no parser takes leads nowhere either.
          if (!(error instanceof TemplateError) && !(error instanceof TypeError)) throw error;
        }
      }),
      { numRuns: 3000 },
    );
  });
});

describe('no tag of a template may stand', () => {
  it.each([
    ['<script>{{x}}</script>', 'inside <script>'],
    ['<style>{{x}}</style>', 'inside <style>'],
    ['<STYLE>{{#x}}a{{/x}}</STYLE>', 'inside <style>'],
    ['<!-- {{x}} -->', 'comment'],
    ['<!DOCTYPE {{x}}>', 'comment'],
    ['<!-- a --!><p>{{x}}<!-- {{x}}', 'comment'],
    ['<{{x}}>', 'directly in front'],
    ['</{{x}}>', 'directly in front'],
    ['<a{{x}}>', 'name of an HTML tag'],
    ['<a {{x}}>', 'Names of attributes'],
    ['<a data-{{x}}="1">', 'Names of attributes'],
    ['<a onclick="{{x}}">', 'it is a script'],
    ['<img srcset="{{x}}">', 'srcset'],
    ['<iframe srcdoc="{{x}}">', '<iframe>'],
    ['<script src="{{x}}"></script>', '<script>'],
    ['<meta content="{{x}}">', '<meta>'],
    ['<a href="javascript:f({{x}})">', 'A link with a variable begins'],
    ['<a href="java&#115;cript:{{x}}">', 'A link with a variable begins'],
    ['<a href="{{x}}:80/">', 'before the colon'],
    ['<a href="{{x}}&#58;alert(1)">', 'before the colon'],
    ['<a href="{{#y}}{{x}}{{/y}}:alert(1)">', 'before the colon'],
    ['<p title="{{{x}}}">', 'between tags only'],
    ['<title>{{{x}}}</title>', 'between tags only'],
    ['<title></tit{{x}}le>', 'a space after <'],
    ['<script><!--<script></script>{{x}}', 'script with a comment'],
    ['</p title="{{x}}">', 'end tag'],
    ['<a title={{#x}}b{{/x}}>', 'quotes around the value'],
    ['<a {{#x}}b{{/x}}>', 'a space between'],
    ['{{#x}}<a title="{{/x}}', 'has to close inside'],
    ['<a title="{{#x}}" id="{{/x}}">', 'has to close inside'],
    ['<b title={{x}}', 'ends inside an attribute'],
  ])('%s', (source, words) => {
    expect(refusal(source, { x: 'x', y: 1 })).toContain(words);
  });
});

describe('sections in HTML', () => {
  it.each([
    ['<td {{#x}}bgcolor="{{x}}"{{/x}}>', { x: 'red' }, '<td bgcolor="red">'],
    ['<p class="a{{#x}} b{{/x}}">', { x: 1 }, '<p class="a b">'],
    ['<a href="{{#u}}{{u}}{{/u}}{{^u}}https://a.example/{{/u}}">', {}, '<a href="https://a.example/">'],
    ['<a href="{{#u}}{{u}}{{/u}}{{^u}}https://a.example/{{/u}}">', { u: '/b' }, '<a href="/b">'],
    [
      '<a href="{{#u}}https://a.example/{{/u}}{{x}}">',
      { u: 1, x: 'a:b/c' },
      '<a href="https://a.example/a:b/c">',
    ],
    ['<ul>{{#l}}<li>{{.}}{{/l}}</ul>', { l: ['<', 2] }, '<ul><li>&lt;<li>2</ul>'],
  ])('%s', (source, variables, result) => {
    expect(html(source, variables)).toBe(result);
  });
});
