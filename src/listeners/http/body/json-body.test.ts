import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bodyText, jsonProblem, parseJsonObject } from './json-body.ts';

describe('bodyText', () => {
  const list = (items: string) => Buffer.from(`{"To":[${items}0]}`);

  it.each(['[],', '{"a":1},', '"\\\\",1,', '1,'])('refuses more than a million values, as of %s', (unit) => {
    const parts = unit.match(/[,[{]/g)?.length ?? 0;
    expect(() => bodyText(list(unit.repeat(1_000_000 / parts)))).toThrow(/more than a million values/);
    const fewer = list(unit.repeat(999_990 / parts));
    expect(bodyText(fewer)).toBe(fewer.toString());
  });

  it('counts nothing inside of texts', () => {
    const body = Buffer.from(JSON.stringify({ HTMLContent: '<a href="[,{\\">, '.repeat(300_000) }));
    expect(bodyText(body)).toBe(body.toString());
  });

  it('says in what a body is written that is not UTF-8', () => {
    const utf16 = Buffer.from('\ufeff{"a":1}', 'utf16le');
    expect(() => bodyText(utf16)).toThrow('The body is in UTF-16; write it in UTF-8');
    expect(() => bodyText(utf16.swap16())).toThrow('The body is in UTF-16; write it in UTF-8');
    expect(() => bodyText(Buffer.from('{"a":"\u00e9"}', 'latin1'))).toThrow('The body is not valid UTF-8');
  });
});

describe('jsonProblem', () => {
  const NAMES = 'names stand in straight double quotation marks, and no comma follows the last one';
  const TEXTS =
    'texts stand in straight double quotation marks; other values are numbers, true, false and null';

  it.each([
    ['', 'The body is empty; it must be a JSON object'],
    ['[1]', 'The body is JSON, but not an object'],
    ['{"From":', 'The body is not JSON: it ends too early'],
    ['{"From":"a', 'The body is not JSON: it ends too early'],
    ['{\n  "a": 1,\n}', `The body is not JSON: see line 3, column 1; ${NAMES}`],
    ["{'From':1}", `The body is not JSON: see line 1, column 2; ${NAMES}`],
    ['{“From”:1}', `The body is not JSON: see line 1, column 2; ${NAMES}`],
    ['{"a":"\\"",\n"b": True}', `The body is not JSON: see line 2, column 6; ${TEXTS}`],
    ['{"a":\'x\'}', `The body is not JSON: see line 1, column 6; ${TEXTS}`],
    [
      '{"a":[1,]}',
      'The body is not JSON: see line 1, column 9; there is a comma too many, or a value is missing',
    ],
    ['{"a":"1\n"}', 'The body is not JSON: see line 1, column 8; a line break within a text is written \\n'],
    ['{\0"\0', 'The body is not JSON: see line 1, column 2; it is in UTF-16; write it in UTF-8'],
    ['From=a@example.com', 'The body is not JSON: see line 1, column 1; JSON begins with { or ['],
    ['{"a":1}}', 'The body is not JSON: see line 1, column 8'],
  ])('says of %j: %s', (text, problem) => {
    expect(jsonProblem(text)).toBe(problem);
  });

  it('names the member that holds a list which was sent alone', () => {
    expect(jsonProblem('[{}]', 'Messages')).toBe(
      'The body is an array; it must be an object that holds it, like {"Messages": […]}',
    );
    expect(jsonProblem('"x"', 'Messages')).toBe('The body is JSON, but not an object');
  });

  it('has one of its few sentences for any text that is refused, and repeats nothing of it', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        fc.pre(parseJsonObject(text) === null);
        expect(jsonProblem(text)).toMatch(
          /^The body is (not JSON: (see line \d+, column \d+(; [a-z][\w ,;\\"-]+|; JSON begins with \{ or \[)?|it ends too early)|JSON, but not an object|empty; it must be a JSON object)$/,
        );
      }),
    );
  });
});
