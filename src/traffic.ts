/**
 * Builds what delivery knows about receivers: shaping data with the operator's file, overrides, the states of paths,
 * holds, and the operator's reply rules. All parts are loaded from the store; `reload` reads the operator's files
 * again, `flush` stores what is not stored yet.
 */
import type { Clock } from './lib/clock.ts';
import type { Logger } from './lib/log.ts';
import type { Random } from './lib/random.ts';
import type { NodeLease } from './model/node.ts';
import { createOperatorFiles, replyRulesFile, shapingFile } from './operator-files.ts';
import { createHolds, type Holds } from './policy/limits/holds.ts';
import { createEgressMemory, type EgressMemory } from './policy/limits/shaping/egress-memory.ts';
import { createOverrides, type OverrideBook } from './policy/limits/shaping/overrides.ts';
import { createPathMemory, type PathMemory } from './policy/limits/shaping/path-memory.ts';
import { createShaping } from './policy/limits/shaping/shaping.ts';
import type { Shaping } from './policy/limits/shaping/types.ts';
import type { LimitStore } from './store/topics/limits.ts';

export interface TrafficParts {
  shaping: Shaping;
  overrides: OverrideBook;
  pathMemory: PathMemory;
  holds: Holds;
  /** Observed facts about far ends. */
  egressMemory: EgressMemory;
  reload(): Promise<void>;
  /** Reads again what other processes on the same store may have changed. */
  refresh(): Promise<void>;
  flush(): Promise<void>;
}

export interface TrafficOptions {
  /** The folder of the operator's files. */
  folder: string;
  /** The key `max-connections` if set. */
  maxConnections: number | null;
  /** The key `transactions-in-flight` if set. */
  transactionsInFlight: number | null;
  sourceIds: ReadonlySet<string>;
  /** A mistake in a file is thrown; otherwise it is logged. */
  strict: boolean;
}

/** Throws if a file of the operator has a mistake, with every problem. */
export async function openTraffic(
  deps: {
    store: LimitStore;
    node: NodeLease;
    clock: Clock;
    random: Random;
    classifier: Parameters<typeof replyRulesFile>[0];
    log: Logger;
  },
  options: TrafficOptions,
): Promise<TrafficParts> {
  const overrides = createOverrides(deps);
  const pathMemory = createPathMemory(deps);
  const holds = createHolds(deps);
  const egressMemory = createEgressMemory(deps);
  const refresh = async (): Promise<void> => {
    for (const memory of [overrides, pathMemory, holds]) await memory.load();
  };
  await refresh();
  await egressMemory.load();
  const shaping = createShaping(overrides, options);
  const files = createOperatorFiles(
    options.folder,
    [shapingFile(shaping), replyRulesFile(deps.classifier)],
    deps.log,
  );
  await (options.strict ? files.load() : files.reload());
  return {
    shaping,
    overrides,
    pathMemory,
    holds,
    egressMemory,
    reload: () => files.reload(),
    refresh,
    async flush() {
      await Promise.all([overrides.flush(), pathMemory.flush(), egressMemory.flush()]);
    },
  };
}
