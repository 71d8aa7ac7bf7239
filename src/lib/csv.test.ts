import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { csvLine, parseCsv, withoutGuards } from './csv.ts';

const cellsOf = (text: string) => parseCsv(text).map((row) => row.cells);

describe('comma-separated values', () => {
  it('come back as they were written', () => {
    const cell = fc.string({ unit: fc.constantFrom('a', ' ', '"', ',', ';', '\n', 'é', '@') });
    fc.assert(
      fc.property(fc.array(fc.array(cell, { minLength: 2, maxLength: 4 }), { maxLength: 5 }), (rows) => {
        const header = ['Email', 'Note'];
        const written = [header, ...rows].map(csvLine).join('');
        expect(cellsOf(written).map((row) => row.map(withoutGuards))).toEqual([
          header,
          ...rows.filter((row) => row.some((one) => one.trim() !== '')),
        ]);
      }),
    );
    expect(csvLine(['=1+1', '-x', 'a'])).toBe("'=1+1,'-x,a\r\n");
  });

  it('begin no formula where a spreadsheet separates cells by semicolons either', () => {
    const cells = ['a@b.example', "550 No such user;=cmd|'/C calc'!A0;+1", 'no;"=1+1', 'two\n-lines'];
    const line = csvLine([...cells, 'an old\r=line\r\r+end', '＝1+1', 'wide;＋1;－1;＠a']);
    expect(line.split(/[,;\r\n]/).filter((cell) => /^"*[=+@＝＋－＠-]/.test(cell))).toEqual([]);
  });

  it('are read as spreadsheets write them', () => {
    expect(cellsOf('\ufeffEmail;Note\r\n"a@b.example";"say ""hi"""\r\n\r\nc@d.example;\r\n')).toEqual([
      ['Email', 'Note'],
      ['a@b.example', 'say "hi"'],
      ['c@d.example', ''],
    ]);
    expect(cellsOf('a@b.example\nc@d.example')).toEqual([['a@b.example'], ['c@d.example']]);
    expect(cellsOf('Email\tNote\nx\ty')).toEqual([
      ['Email', 'Note'],
      ['x', 'y'],
    ]);
    // Old programs for the Mac end a line with CR; some on Windows write CR CR LF.
    expect(cellsOf('Email;Note\ra@b.example;"x\ry,z,"\rc@d.example;\r')).toEqual([
      ['Email', 'Note'],
      ['a@b.example', 'x\ry,z,'],
      ['c@d.example', ''],
    ]);
    expect(cellsOf('Email,Note\r\r\na@b.example,x\r\r\n')).toEqual([
      ['Email', 'Note'],
      ['a@b.example', 'x'],
    ]);
    expect(cellsOf('')).toEqual([]);
  });

  it('know the line each row begins on', () => {
    for (const end of ['\n', '\r\n', '\r']) {
      const text = 'a,b\n"x\ny",z\n\nlast,one'.replaceAll('\n', end);
      expect(parseCsv(text).map((row) => row.line)).toEqual([1, 2, 5]);
    }
  });
});
