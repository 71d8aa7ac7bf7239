import { describe, expect, it } from 'vitest';
import { readJson } from './json-lines.ts';

const TEXT = `[
  {
    "id": "a",
    "limits": { "connections": 2, "text": "a \\"{[,\\n" },
    "list": [1,
      2, [
        3
      ]]
  },
  { "id": "b/c", "x~/y":
      7 }
]`;

function lines(text: string) {
  const read = readJson(text);
  if (!read.ok) throw new Error(read.message);
  return read.lines;
}

describe('lines of a JSON text', () => {
  it('finds members by their pointer, and the nearest one around what is not there', () => {
    const at = lines(TEXT);
    expect(
      ['', '/0', '/0/id', '/0/limits/connections', '/0/limits/none', '/0/list/1', '/0/list/2/0'].map(
        at.lineOf,
      ),
    ).toEqual([1, 2, 3, 4, 4, 6, 7]);
    expect(['/1', '/1/id', '/1/x~0~1y', '/9/limits'].map(at.lineOf)).toEqual([10, 10, 10, 1]);
  });

  it('tells of keys that stand twice in one object, not of those in different ones', () => {
    expect(lines('[{"a":1,\n"a":2},{"a":{"a":1}}]').duplicates).toEqual(['/0/a']);
  });

  it('stands a text that is nested deep', () => {
    expect(lines(`${'['.repeat(5000)}1${']'.repeat(5000)}`).lineOf('/0/0')).toBe(1);
  });

  it.each([
    ['[\n{"a": 1,\n"b" 2}\n]', 3],
    ['{\n"a": x\n}', 2],
    ['{\n"a": 1', 2],
    ['', 1],
    ['[1,\n2\n]]\n\n', 3],
    ['{"a": "x\ny"}', 1],
  ])('names the line where %j stops being JSON', (text, line) => {
    const read = readJson(text);
    expect(read.ok ? '' : read.message).toMatch(new RegExp(`^line ${line}: is not JSON`));
  });
});
