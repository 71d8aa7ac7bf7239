/** Sample variables: what is wrong in them and where, and names added to them. */
import { describe, expect, it } from 'vitest';
import { readVariables, withNames } from './variables.ts';

describe('sample variables', () => {
  it('are an object, or nothing at all', () => {
    expect(readVariables(' \n')).toEqual({ ok: true, variables: {} });
    expect(readVariables('{"a": [1, {"b": null}]}')).toEqual({
      ok: true,
      variables: { a: [1, { b: null }] },
    });
    for (const text of ['[1]', 'null', '"a"', '1'])
      expect(readVariables(text)).toMatchObject({ ok: false, line: 1, column: 1 });
  });

  it('have their first mistake named with its place', () => {
    const mistakes: [text: string, line: number, column: number, message: string][] = [
      ['{\n  "a": 1,\n}', 3, 1, 'There is a comma too many before this'],
      ['{"a": [1, 2,]}', 1, 13, 'There is a comma too many before this'],
      ['{\n"a": \'b\'}', 2, 6, 'JSON writes texts in double quotes'],
      ['{"a": 1\n"b": 2}', 2, 1, 'A comma is missing before this'],
      ['{"a": 1', 1, 8, 'Something is missing at the end'],
      ['{a: 1}', 1, 2, 'This is not JSON: a: 1}'],
    ];
    for (const [text, line, column, message] of mistakes)
      expect(readVariables(text), text).toEqual({ ok: false, line, column, message });
  });

  it('get a value for each name that is missing, and keep what they have', () => {
    const names = ['name', 'order.code', 'order.total', 'kept.deeper', '__proto__.polluted'];
    const added = withNames({ kept: 'a text', name: '' }, names);
    expect(JSON.stringify(added)).toBe(
      '{"kept":"a text","name":"","order":{"code":"code","total":"total"},"__proto__":{"polluted":"polluted"}}',
    );
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });
});
