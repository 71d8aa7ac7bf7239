import { describe, expect, it } from 'vitest';
import { everyItem } from './api-client.ts';

describe('everyItem', () => {
  it('reads on until there is no further page, in order', async () => {
    const pages: Readonly<Record<string, object>> = {
      '/domains?Limit=100': { Items: [1, 2], NextCursor: 'a+b' },
      '/domains?Limit=100&After=a%2Bb': { Items: [3], NextCursor: 'c' },
      '/domains?Limit=100&After=c': { Items: [], NextCursor: null },
    };
    const call = async <Answer>(_method: string, path: string) => pages[path] as Answer;
    expect(await everyItem<number>({ call }, '/domains')).toEqual([1, 2, 3]);
  });
});
