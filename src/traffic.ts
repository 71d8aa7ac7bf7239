/**
 * What delivery may ask of the world and what it remembers of it, put together: shaping data with the operator's file,
 * overrides, the state of paths, holds, and the operator's reply rules. Given the store, leaves parts that are loaded;
 * `reload` reads the operator's files again, `flush` stores what is not stored yet.
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
  /** About far ends. */
  egressMemory: EgressMemory;
  reload(): Promise<void>;
  /** Reads again what other processes on the same store may have changed. */
  refresh(): Promise<void>;
  flush(): Promise<void>;
}

export interface TrafficOptions {
  /** Where the operator's files lie. */
  folder: string;
  /** The key `max-connections` where it is set. */
  maxConnections: number | null;
  sourceIds: ReadonlySet<string>;
  /** A mistake in a file is thrown; otherwise logged. */
  strict: boolean;
}

/** Throws where a file of the operator's has a mistake, with every problem. */
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
