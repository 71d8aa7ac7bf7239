/** The cache keeps what is used, within its bounds. */
import { describe, expect, it } from 'vitest';
import { createCompiledCache } from './compiled-cache.ts';
import { compileTemplate } from './template.ts';

const template = (text: string) => compileTemplate({ subject: null, html: null, text });

describe('the cache of compiled templates', () => {
  it('drops what was not used for longest beyond its number', () => {
    const cache = createCompiledCache({ maxTemplates: 2, maxBytes: 1_000_000 });
    const [a, b, c] = ['a', 'b', 'c'].map(template);
    if (a === undefined || b === undefined || c === undefined) throw new Error('three templates');
    cache.set('a', a);
    cache.set('b', b);
    expect(cache.get('a')).toBe(a);
    cache.set('c', c);
    expect([cache.get('a'), cache.get('b'), cache.get('c')]).toEqual([a, undefined, c]);
  });

  it('stays within its octets, and counts a replaced one once', () => {
    const big = template('x'.repeat(1000));
    const cache = createCompiledCache({ maxTemplates: 100, maxBytes: 2.5 * big.weight });
    for (const key of ['a', 'a', 'b', 'c']) cache.set(key, big);
    cache.set('huge', template('x'.repeat(100_000)));
    expect(['a', 'b', 'c', 'huge'].map(cache.get)).toEqual([undefined, big, big, undefined]);
  });
});
