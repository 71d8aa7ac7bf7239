import { describe, expect, it } from 'vitest';
import { everyItem, firstPage } from './api-client.ts';

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

describe('firstPage', () => {
  it('asks for more pages until a search has found as many as were asked for', async () => {
    const pages: Readonly<Record<string, object>> = {
      '/email?Tag=x&Limit=3': { Items: [], NextCursor: 'a' },
      '/email?Tag=x&Limit=3&After=a': { Items: [1, 2], NextCursor: 'b' },
      '/email?Tag=x&Limit=1&After=b': { Items: [3], NextCursor: 'c' },
    };
    const call = async <Answer>(_method: string, path: string) => pages[path] as Answer;
    const page = await firstPage({ call }, '/email', { Tag: 'x' }, 3);
    expect(page).toEqual({ Items: [1, 2, 3], NextCursor: 'c' });
  });
});
