import { describe, expect, it } from 'vitest';
import { propertyTable, readProperties } from './json-properties.ts';

/** More names than a machine word has bits. */
const NAMES = Array.from({ length: 70 }, (_, i) => `Field${i}`);
const TABLE = propertyTable(NAMES);

function read(object: Record<string, unknown>) {
  const reports: string[] = [];
  const values = readProperties(object, TABLE, true, (name, segment) => reports.push(`${name} ${segment}`));
  return { values, reports };
}

describe('reading the properties of an object with many names', () => {
  it('reads every one of them, in any spelling', () => {
    for (const spell of [(name: string) => name, (name: string) => name.toUpperCase()]) {
      const { values, reports } = read(Object.fromEntries(NAMES.map((name, i) => [spell(name), i])));
      expect(values).toEqual(NAMES.map((_, i) => i));
      expect(reports).toEqual([]);
    }
  });

  it('reports two other spellings of each, unless the documented one is there too', () => {
    for (const name of NAMES) {
      const twice = { [name.toUpperCase()]: 1, [name.toLowerCase()]: 2 };
      expect(read(twice).reports).toEqual([`duplicate-property ${name}`]);
      expect(read({ ...twice, [name]: 3 })).toMatchObject({ reports: [] });
      expect(read({ [name]: 3, ...twice }).values[NAMES.indexOf(name)]).toBe(3);
    }
  });
});
