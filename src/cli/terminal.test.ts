import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { shortened, withWhole } from './terminal.ts';

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
