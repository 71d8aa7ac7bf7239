import { describe, expect, it } from 'vitest';
import { createPersonalTokens } from '../../../mail/personal-token.ts';
import { createReturnPathTokens } from '../../../mail/verp.ts';
import type { TokenSlot } from '../../../model/personal.ts';
import { createPersonalTexts } from './personal-texts.ts';

const keys = [{ id: 1, secret: new Uint8Array(32).fill(7) }];

describe('the texts of one copy', () => {
  it('are made once for each link, however often it stands in the message', () => {
    const tokens = createPersonalTokens(keys);
    let made = 0;
    const texts = createPersonalTexts(
      {
        ...tokens,
        make: (...given) => {
          made += 1;
          return tokens.make(...given);
        },
      },
      createReturnPathTokens(keys),
    );
    const place = (kind: TokenSlot['kind'], link: number, digest: string) =>
      ({ kind, link, digest, offset: 0 }) as TokenSlot;
    const one = [
      place('click', 0, 'a'),
      place('click', 1, 'b'),
      place('open', 0, ''),
      place('unsubscribe', 0, ''),
    ];
    const [first, second, open, unsubscribe] = texts({ host: '', places: one }, 5);
    expect(new Set([first, second, open, unsubscribe]).size).toBe(4);
    made = 0;
    const many = texts({ host: '', places: Array.from({ length: 2_500 }, () => one).flat() }, 5);
    expect(many).toHaveLength(10_000);
    expect(many.slice(-4)).toEqual([first, second, open, unsubscribe]);
    expect(made).toBe(4);
  });
});
