import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { issueText, memberGroup } from './issue-text.ts';

const SCHEMA = z.object({
  Name: z.string().min(1).max(3).optional(),
  Size: z.int().min(2).max(9).optional(),
  Share: z.number().gt(0).lt(1).optional(),
  Kind: z.enum(['One', 'Two']).optional(),
  On: z.boolean().optional(),
  Items: z
    .array(
      z.object({
        Reason: z.string({ error: 'is one of A, B' }),
        Email: z.string({ error: 'an address is required' }),
      }),
    )
    .min(1)
    .max(2)
    .optional(),
  Words: z.array(z.enum(['a', 'b'])).optional(),
  Wait: z.union([z.int(), z.literal('never')]).optional(),
  Keep: z.strictObject({ Days: z.int().optional() }).optional(),
});

describe('an unknown name', () => {
  it.each([
    [{ Keep: { Day: 1 } }, 'Keep has no Day; did you mean Days?'],
    [{ Keep: { Colour: 1, Day: 1 } }, 'Keep has no Colour, Day; known: Days, Hours'],
    [
      { Keep: Object.fromEntries(Array.from({ length: 9 }, (_, n) => [`${n}`.repeat(99), 1])) },
      /^Keep has no (?:\d{64}…, ){4}\d{64}… …; known: Days, Hours$/,
    ],
    [{ Keep: 5 }, 'Keep must be an object with Days, Hours'],
    [{ Keep: { Days: 'x' } }, 'Days must be a number'],
  ])('of a group of members is named: %j', (value, text) => {
    const group = memberGroup({ Days: z.int().optional(), Hours: z.int().optional() });
    const { error } = z.object({ Keep: group.optional() }).safeParse(value);
    expect(error?.issues.map(issueText)).toEqual([
      typeof text === 'string' ? text : expect.stringMatching(text),
    ]);
  });
});

describe('what is wrong', () => {
  it('a member that is missing is required', () => {
    const { error } = z.object({ Name: z.string() }).safeParse({});
    expect(error?.issues.map(issueText)).toEqual(['Name is required']);
  });

  it.each([
    [{ Name: '' }, 'Name must not be empty'],
    [{ Name: 'long' }, 'Name must have at most 3 characters'],
    [{ Name: 5 }, 'Name must be a text'],
    [{ Size: 1 }, 'Size must be at least 2'],
    [{ Size: 1.5 }, 'Size must be a whole number'],
    [{ Share: 0 }, 'Share must be more than 0'],
    [{ Share: 1 }, 'Share must be less than 1'],
    [{ Kind: 'Three' }, 'Kind is one of One, Two'],
    [{ On: 'yes' }, 'On must be true or false'],
    [{ Items: [] }, 'Items must hold at least 1 item'],
    [{ Items: 5 }, 'Items must be a list'],
    [{ Items: [{ Email: 'x' }] }, 'Reason is one of A, B'],
    [{ Items: [{ Reason: 'x' }] }, 'Email: an address is required'],
    [{ Words: ['a', 'c'] }, 'Words[1] is one of a, b'],
    [{ Wait: 'soon' }, 'Wait has the wrong form'],
    [{ Keep: { Days: 1, Day: 2 } }, 'Keep has no Day'],
  ])('%j: %s', (value, text) => {
    const { error } = SCHEMA.safeParse(value);
    expect(error?.issues.map(issueText)).toEqual([text]);
  });
});
