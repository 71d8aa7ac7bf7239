import { describe, expect, it } from 'vitest';
import { jsonText } from './json-text.ts';

const large = (of: string) => of.repeat(400_000 / of.length);

describe('the text of an answer', () => {
  it.each([
    {},
    [],
    null,
    'text',
    7,
    { Items: [] },
    { Items: [], More: false },
    { First: undefined, Second: 1 },
    { Items: [{ Name: '"\u2028é' }, null, [1, [2]]], 'a"b': { Items: [1] }, Next: null },
  ])('is what JSON.stringify makes of %j', async (value) => {
    expect(await jsonText(value)).toBe(JSON.stringify(value));
  });

  it('has no half of a character, where a text was cut within one', async () => {
    const value = { Reply: '550 \ud83d', Items: [{ Why: '\udcec📬' }, '\\ud83d'] };
    expect(await jsonText(value)).toBe('{"Reply":"550 \ufffd","Items":[{"Why":"\ufffd📬"},"\\\\ud83d"]}');
  });

  it.each([['ascii'], ['é'], ['\u{1f600}']])('is the same in several turns, of %s', async (of) => {
    const value = { Total: 9, Items: Array.from({ length: 9 }, (_, i) => [i, large(of)]), After: 'x' };
    const written = await jsonText(value);
    expect(written).toBeInstanceOf(Uint8Array);
    expect(Buffer.from(written).equals(Buffer.from(JSON.stringify(value)))).toBe(true);
  });

  it('lets others have a turn between the items of a large list, and only there', async () => {
    const turnsDuring = async (items: number) => {
      let turns = 0;
      let over = false;
      const count = () => {
        turns += 1;
        if (!over) setImmediate(count);
      };
      setImmediate(count);
      await jsonText({ Items: Array.from({ length: items }, () => large('x')) });
      over = true;
      return turns;
    };
    expect(await turnsDuring(2)).toBe(0);
    expect(await turnsDuring(30)).toBeGreaterThanOrEqual(10);
  });
});
