import { describe, expect, it } from 'vitest';
import { fileText, mergeAnswers, shownChange } from './config-file.ts';

describe('mergeAnswers', () => {
  it('keeps the keys that were not asked for, their order and their form', () => {
    const before = {
      routes: [{ tag: 'a', route: 'mx' }],
      retry: ['1s', '2s'],
      'max-recipients': 10,
      hostname: 'a.test',
    };
    const after = mergeAnswers(before, {
      hostname: 'b.test',
      retry: '1s,2s',
      'max-recipients': '10',
      route: 'mx',
    });
    expect(fileText(after)).toBe(fileText({ ...before, hostname: 'b.test', route: 'mx' }));
  });

  it('writes a default only for the route, or where the file says something else', () => {
    expect(mergeAnswers({}, { route: 'mx', http: '127.0.0.1:8025', returns: 'off' })).toEqual({
      route: 'mx',
    });
    expect(mergeAnswers({ returns: '0.0.0.0:25' }, { returns: 'off' })).toEqual({ returns: 'off' });
  });
});

describe('shownChange', () => {
  it('shows a new file as it will be, and of an old one the lines that change, without passwords', () => {
    const relay = 'smtp://me:hidden@relay.test:587';
    expect(shownChange(null, { route: relay, hostname: 'a.test' })).toEqual([
      '  {',
      '    "route": "smtp://(secret)@relay.test:587",',
      '    "hostname": "a.test"',
      '  }',
    ]);
    const before = { routes: [{ tag: 'a', route: relay }], hostname: 'a.test' };
    expect(shownChange(before, { ...before, hostname: 'b.test', route: relay })).toEqual([
      '  {',
      '    "routes": …,',
      '-   "hostname": "a.test",',
      '+   "hostname": "b.test",',
      '+   "route": "smtp://(secret)@relay.test:587"',
      '  }',
    ]);
  });
});
