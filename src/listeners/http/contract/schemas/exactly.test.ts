import { expect, it } from 'vitest';
import { z } from 'zod';
import { exactly } from './exactly.ts';

interface Answer {
  readonly A: string;
  B?: readonly (1 | 2)[];
}

it('gives back what is equal, and compiles nothing else', () => {
  const equal = z.object({ A: z.string(), B: z.array(z.literal([1, 2])).optional() });
  expect(exactly<Answer>()(equal)).toBe(equal);
  // @ts-expect-error a member is missing
  exactly<Answer>()(z.object({ A: z.string() }));
  // @ts-expect-error a member is too many
  exactly<Answer>()(equal.extend({ C: z.string() }));
  // @ts-expect-error a member may be absent
  exactly<Answer>()(equal.extend({ A: z.string().optional() }));
  // @ts-expect-error a member may not be absent
  exactly<Answer>()(equal.extend({ B: z.array(z.literal([1, 2])) }));
  // @ts-expect-error a type is wider
  exactly<Answer>()(equal.extend({ B: z.array(z.number()).optional() }));
  // @ts-expect-error a type is narrower
  exactly<Answer>()(equal.extend({ B: z.array(z.literal(1)).optional() }));
});
