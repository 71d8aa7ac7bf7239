/**
 * A path's part of the warm-up of its source (policy/limits/warmup): asked per lane before a message is sent, and told
 * its result. One message per lane is taken from the budget ahead, so that asking twice costs nothing. Paths of sources
 * that are not new, or of sites without a provider, have no warm-up.
 */
import type { Lane } from '../../../model/message.ts';
import type { Warmup } from '../../../policy/limits/warmup/warmup.ts';
import type { Outcome } from '../outcome/outcome.ts';

export interface PathWarmup {
  /** Whether a message of this lane may be sent now. */
  mayGo(lane: Lane): boolean;
  /** Why the last one that was refused waits, and for how long; `forMs` null: `wake` will be called. */
  waiting(): { reason: string; forMs: number | null } | null;
  /** One of this lane is sent. */
  went(lane: Lane): void;
  /** The provider's answer to one that reached it. */
  onOutcome(outcome: Outcome): void;
  /** This many did not reach the provider. */
  cameBack(count: number): void;
  /** The path sends nothing more: what was taken ahead is given back, and nothing is called. */
  release(): void;
}

const FREE: PathWarmup = {
  mayGo: () => true,
  waiting: () => null,
  went() {},
  onOutcome() {},
  cameBack() {},
  release() {},
};

/** `now`: epoch milliseconds. */
export function createPathWarmup(
  deps: {
    warmup: Pick<Warmup, 'warms' | 'take' | 'giveBack' | 'outcome' | 'onReady'>;
    /** Of the path. */
    name: string;
    now(): number;
    /** The budget may allow more now. */
    wake(): void;
  },
  { source, provider }: { source: string; provider: string | null },
): PathWarmup {
  const { warmup, now } = deps;
  if (provider === null || !warmup.warms(source)) return FREE;
  const ahead = new Set<Lane>();
  let waiting: ReturnType<PathWarmup['waiting']> = null;
  const ended = warmup.onReady(source, provider, deps.name, deps.wake);

  return {
    mayGo(lane) {
      if (ahead.has(lane)) return true;
      const answer = warmup.take(source, provider, lane);
      if (answer.kind === 'go') {
        ahead.add(lane);
        return true;
      }
      const forMs = answer.until === null ? null : Math.max(0, answer.until - now());
      waiting = { reason: answer.reason, forMs };
      return false;
    },
    waiting: () => waiting,
    went(lane) {
      ahead.delete(lane);
      waiting = null;
    },
    onOutcome(outcome) {
      const verdict = 'verdict' in outcome ? outcome.verdict : null;
      const category = verdict?.category ?? null;
      if (category === 'ip_reputation' || category === 'ip_blocklisted') {
        warmup.outcome(source, provider, 'blocked');
      } else {
        const deferred = outcome.kind === 'deferred' || outcome.kind === 'path';
        warmup.outcome(source, provider, deferred ? 'deferred' : 'accepted');
      }
    },
    cameBack(count) {
      for (let i = 0; i < count; i++) warmup.giveBack(source, provider);
    },
    release() {
      for (const _ of ahead) warmup.giveBack(source, provider);
      ahead.clear();
      ended();
    },
  };
}
