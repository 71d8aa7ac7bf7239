/** Filled-in templates, read by an independent HTML parser (Python's): it finds exactly the intended tags and values. */
import { spawnSync } from 'node:child_process';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compileTemplate, fillTemplate } from '../../src/pipeline/compose/template/template.ts';

const PARSER = `
import json, sys
from html.parser import HTMLParser
class P(HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True); self.found = []
    def handle_starttag(self, tag, attrs): self.found.append([tag, attrs])
    def handle_endtag(self, tag): self.found.append(['/' + tag, []])
    def handle_comment(self, data): self.found.append(['comment', []])
    def handle_decl(self, data): self.found.append(['declaration', []])
    def handle_data(self, data):
        if self.found and self.found[-1][0] == 'text': self.found[-1][1] += data
        else: self.found.append(['text', data])
out = []
for page in json.load(sys.stdin):
    p = P(); p.feed(page); p.close(); out.append(p.found)
json.dump(out, sys.stdout)
`;
const hasPython = spawnSync('python3', ['--version']).status === 0;

const compiled = compileTemplate({
  subject: null,
  text: null,
  html: `<p title="{{x}}" id='{{x}}' class={{x}}>{{x}}!</p><a href="https://a.example/?q={{x}}">end</a>`,
});

describe.skipIf(!hasPython)('Python’s html.parser (skipped without python3)', () => {
  it('finds the very values, in the places they were written to', () => {
    const alphabet = fc.constantFrom(
      '<',
      '>',
      '"',
      "'",
      '&',
      '&amp;',
      '&#60;',
      '--',
      '=',
      '`',
      ' ',
      '\n',
      '/',
      'x',
      'é',
      '<b>',
      '</p>',
      '<!--',
      '😀',
    );
    const hostile = fc.oneof(fc.string({ unit: alphabet }), fc.string({ unit: 'grapheme' }));
    const values = fc.sample(hostile, { numRuns: 2000, seed: 7 }).map((value) =>
      // biome-ignore lint/suspicious/noControlCharactersInRegex: these are removed by promise
      value.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, ''),
    );
    const pages = values.map((x) => fillTemplate(compiled, { x }).html);
    const { stdout, stderr } = spawnSync('python3', ['-c', PARSER], {
      input: JSON.stringify(pages),
      encoding: 'utf8',
      maxBuffer: 64 * 1024 * 1024,
    });
    expect(stderr).toBe('');
    const parsed = JSON.parse(stdout) as unknown[];
    expect(parsed).toHaveLength(values.length);
    values.forEach((x, i) => {
      expect(parsed[i], x).toEqual([
        [
          'p',
          [
            ['title', x],
            ['id', x],
            ['class', x],
          ],
        ],
        ['text', `${x}!`],
        ['/p', []],
        ['a', [['href', `https://a.example/?q=${encodeURIComponent(x)}`]]],
        ['text', 'end'],
        ['/a', []],
      ]);
    });
  });
});
