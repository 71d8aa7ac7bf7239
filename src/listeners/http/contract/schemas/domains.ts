/** Schema of the answer about erased persons. */
import { z } from 'zod';
import type { EraseAnswer } from '../answers/suppressions.ts';
import { exactly } from './exactly.ts';
import { count } from './shared.ts';

export const eraseAnswer = exactly<EraseAnswer>()(
  z
    .object({
      Messages: count.describe('Messages in which the person stood'),
      Events: count.describe('Events in which the address was masked'),
      Pending: count.describe('Messages of which something had to stay until a copy under way is final'),
      Share: z.number().describe('How much of the work is done, 0 to 1'),
      NextCursor: z.string().nullable().describe('`After` of the next request; null = all is done'),
    })
    .meta({ id: 'EraseAnswer' }),
);
