import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { jsonText, parsedForTerminal, printable, shortened, withWhole } from './terminal.ts';

/** What a terminal obeys: an escape sequence, C1, DEL, and each way to turn the direction of what follows. */
const EVIL = '\u001b[31m\u009b1m\u007f\u061c\u200e\u200f\u2028\u2029\u202a\u202e\u2066\u2069';
const SAFE = `·[31m·1m${'·'.repeat(10)}`;

describe('a text from outside', () => {
  it('is shown in one line without what a terminal obeys', () => {
    expect(printable(`a${EVIL}b\r\nc\td`)).toBe(`a${SAFE}b·c·d`);
    expect(printable('Ünïcode שלום 😀')).toBe('Ünïcode שלום 😀');
  });

  it('of an answer is made safe, and only members with lines keep them', () => {
    const lines = `1${EVIL}\r\n2\t\n3`;
    const answer = { Items: [{ Name: lines, Tags: [lines], Count: 1, At: null }], PlainContent: lines };
    const line = `1${SAFE}·2··3`;
    expect(parsedForTerminal(JSON.stringify(answer))).toEqual({
      Items: [{ Name: line, Tags: [line], Count: 1, At: null }],
      PlainContent: `1${SAFE}\n2\t\n3`,
    });
  });

  it('is the same in JSON, where it is escaped', () => {
    const value = { Name: `a${EVIL}\n` };
    const text = jsonText(value, 2);
    expect(JSON.parse(text)).toEqual(value);
    expect(printable(text.replaceAll('\n', ''))).toBe(text.replaceAll('\n', ''));
  });
});

describe('a text that is shortened', () => {
  it.each([
    ['abcdef', 6, 'abcdef'],
    ['abcdefg', 6, 'abcde…'],
    ['a\u001b[1mb', 9, 'a·[1mb'],
    ['abcd😀😀', 6, 'abcd…'],
    ['', 6, ''],
  ])('%j in %i characters ends in … if something is left out', (text, most, shown) => {
    expect(shortened(text, most)).toBe(shown);
  });

  it('is followed by the command that shows all of it', () => {
    expect(withWhole('a\nb', 'postrider causes --json')).toBe('a\nb');
    expect(withWhole('a…', 'postrider causes --json')).toBe(
      'a…\n\n… = shortened; the whole text: postrider causes --json',
    );
  });

  it('is shortened here, by no command itself', () => {
    const names = readdirSync(import.meta.dirname, { recursive: true, encoding: 'utf8' });
    const cutting = names.filter(
      (name) =>
        /(?<!\.test)\.ts$/.test(name) &&
        name !== 'terminal.ts' &&
        /printable\(.*\)\.(?:slice|substring)\(/.test(readFileSync(join(import.meta.dirname, name), 'utf8')),
    );
    expect(cutting).toEqual([]);
  });
});
