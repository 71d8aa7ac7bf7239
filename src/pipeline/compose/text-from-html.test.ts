import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cpuMsOf } from '../../../test/fakes/thread-cpu.ts';
import { textFromHtml } from './text-from-html.ts';

describe('textFromHtml', () => {
  it.each([
    [
      'sets paragraphs apart and collapses blanks',
      '<h1>Hi</h1>\n<p>One\n   two</p><p>Three</p>',
      'Hi\n\nOne two\n\nThree',
    ],
    ['keeps inline elements on one line', 'a<b>b</b> <i>c</i>&nbsp; d', 'ab c d'],
    ['turns br into line ends', 'a<br>b<br/>\n<br>c', 'a\nb\n\nc'],
    [
      'shows where a link leads',
      '<a href="https://x.example/?a=1&amp;b=2">Shop</a> now',
      'Shop (https://x.example/?a=1&b=2) now',
    ],
    [
      'does not repeat a link that is its own text',
      '<li><a href="https://x.example/">x.example</a>',
      '* x.example',
    ],
    [
      'shows a bare link when it has no text',
      '<a href="https://x.example/"><img src="i.png"></a>',
      'https://x.example/',
    ],
    [
      'keeps a link beside a block inside it',
      '<a href="https://x.example/b"><div>Buy</div></a>Then',
      'Buy (https://x.example/b)\nThen',
    ],
    ['leaves out script and fragment links', '<a href="javascript:alert(1)">a</a> <a href="#x">b</a>', 'a b'],
    ['shows mail links by address', '<a href="mailto:a@b.example">Write</a>', 'Write (a@b.example)'],
    [
      'shows mail links without the subject they give, and none without an address',
      '<a href="mailto:a@b.example?subject=Hi&amp;body=x">Write</a> <a href="MAILTO:a@b.example?subject=Hi">a@b.example</a> <a href="mailto:?body=x">Share</a>',
      'Write (a@b.example) a@b.example Share',
    ],
    [
      'writes lists with bullets and numbers',
      '<ul><li>a</li><li><p>b</p><ol><li>c<li>d</ol></li><li></li></ul><p>e',
      '* a\n* b\n  1. c\n  2. d\n\ne',
    ],
    [
      'writes table rows as lines',
      '<table><tr><th>Item</th><th>Price</th></tr>\n<tr><td>Tea</td> <td>$ 3</td></tr></table>',
      'Item  Price\nTea  $ 3',
    ],
    ['quotes block quotations', '<p>x</p><blockquote>a<br>b</blockquote>c', 'x\n\n> a\n> b\n\nc'],
    ['keeps preformatted text', '<pre>a  b\n  c <b>d</b></pre>', 'a  b\n  c d'],
    [
      'drops scripts, styles, titles and comments',
      '<title>t</title><style>p{}</style><script>if(a<b)"</p>"</script>a<!-- <p>no</p> -->b',
      'ab',
    ],
    ['ends comments and tags where browsers do', 'a<!-- --!>b<!-->c<a =">"d', 'abc"d'],
    ['drops hidden previews', '<div style="display: none">pre<div>x</div>view</div>Hello', 'Hello'],
    ['shows a hidden part that is never closed', '<div style="display:none">Hello', 'Hello'],
    [
      'decodes references',
      '&lt;p&gt; &euro;&#8364;&#x20AC;&#150; &unknown; &amp;amp; AT&T',
      '<p> €€€– &unknown; &amp; AT&T',
    ],
    ['uses alt texts', '<p><img alt="Logo &amp; name"> hi</p>', 'Logo & name hi'],
    ['reads a lone < as text', 'a < b <3 c', 'a < b <3 c'],
    ['survives apostrophes in tags', "<p don't>a</p>b", 'a\n\nb'],
    ['drops preview padding', 'a&zwnj;&#847;\u00ad&shy;b', 'a\u200cb'],
    ['gives nothing for nothing', '<html><body><img src="x"></body></html>', ''],
    ['skips a picture and goes on after an empty one', '<svg><text>no</text></svg>a<svg/>b', 'ab'],
  ])('%s', (_, html, text) => {
    expect(textFromHtml(html)).toBe(text);
  });

  it('takes linear time on hostile documents of a megabyte', () => {
    const size = 1_000_000;
    const fill = (unit: string): string => unit.repeat(Math.floor(size / unit.length));
    for (const unit of [
      '<div>',
      '<a href="x',
      '<a href=https://x.example>',
      '<ul><li>',
      '<!--',
      '<svg>',
      '<script>x',
      '&',
      '&amp',
      '<',
      '</',
      '<p style="display:none">',
      '<p style="display   none">',
      '<blockquote>a',
      '<pre> \n',
      "<a b='",
      '<td> ',
    ]) {
      const ms = cpuMsOf(() => void textFromHtml(fill(unit)));
      expect(ms, `${unit} took ${ms} ms`).toBeLessThan(1_000);
    }
  }, 60_000);

  it('never leaves line ends in runs of three, nor blanks at the end, whatever it reads', () => {
    const word = fc.constantFrom(
      '<p>',
      '</p>',
      '<br>',
      '<a href="https://x.example">',
      '</a>',
      '<li>',
      '<ul>',
      '</ul>',
      'text',
      ' ',
      '\n',
      '&nbsp;',
      '<td>',
      '<',
      '>',
      '"',
      '<div style="display:none">',
      '</div>',
      '<!--',
      '-->',
      '&amp;',
    );
    fc.assert(
      fc.property(fc.array(word, { maxLength: 40 }), (words) => {
        const text = textFromHtml(words.join(''));
        expect(text).not.toMatch(/\n\n\n|\s$|\r/);
      }),
    );
  });
});
