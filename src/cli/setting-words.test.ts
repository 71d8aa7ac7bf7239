import { describe, expect, it } from 'vitest';
import { readSettings, settingRows } from './setting-words.ts';
import { UsageError } from './terminal.ts';

describe('settings on the command line', () => {
  it('are values where they read as JSON, else text; members of a group are joined', () => {
    expect(
      readSettings([
        'RequireTls=true',
        'Retention.ContentDays=0',
        'Retention.EventDays=null',
        'Host=a.b',
        'Empty=',
      ]),
    ).toEqual({
      RequireTls: true,
      Retention: { ContentDays: 0, EventDays: null },
      Host: 'a.b',
      Empty: '',
    });
  });

  it('of another shape are refused by name', () => {
    expect(() => readSettings(['RequireTls'])).toThrow(UsageError);
    expect(() => readSettings(['a.b.c=1'])).toThrow('"a.b.c=1" is not a setting');
    expect(() => readSettings(['__proto__=1'])).toThrow('is not a setting');
  });

  it('are shown as they can be typed', () => {
    expect(settingRows({ A: true, B: { C: null, D: 3 }, E: '', F: 'x.y' })).toEqual([
      ['A', 'true'],
      ['B.C', 'null'],
      ['B.D', '3'],
      ['E', '""'],
      ['F', 'x.y'],
    ]);
  });
});
