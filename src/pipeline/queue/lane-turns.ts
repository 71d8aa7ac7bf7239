/** The order in which lanes are asked for the next message: critical first, then normal and bulk in the ratio 8:2. */
import type { Lane } from '../../model/message.ts';

export interface LaneTurns {
  /** Lanes to ask, in order; the first that has a message sends it. */
  order(): readonly Lane[];
  /** A message of this lane was sent. */
  went(lane: Lane): void;
}

const CYCLE = 10;
const NORMAL_TURNS = 8;
const NORMAL_FIRST: readonly Lane[] = ['critical', 'normal', 'bulk'];
const BULK_FIRST: readonly Lane[] = ['critical', 'bulk', 'normal'];

export function createLaneTurns(): LaneTurns {
  let turn = 0;
  return {
    order: () => (turn < NORMAL_TURNS ? NORMAL_FIRST : BULK_FIRST),
    went(lane) {
      if (lane !== 'critical') turn = (turn + 1) % CYCLE;
    },
  };
}
