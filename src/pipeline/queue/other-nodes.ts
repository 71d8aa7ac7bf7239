/**
 * The other nodes on the store, as this one sees them. A node is judged only by its heartbeat: how long it did not change
 * on the observer's own monotonic clock, added up from look to look, so that neither a clock that jumps nor a pause of the
 * observer ends a living node. Takes what each heartbeat of this node is answered; warns of nodes that do not fit this one.
 */
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import type { LivingNode, NodeAbout, NodeBeat } from '../../store/topics/nodes.ts';

export interface OtherNodes {
  /** The nodes that have not ended, by the answer to a heartbeat. */
  saw(living: readonly LivingNode[]): void;
  /** All, as last seen. */
  all(): NodeBeat[];
  /** Those whose heartbeat has not changed for this time. */
  quietFor(ms: number): NodeBeat[];
  /** Whether this one was seen, and its heartbeat has changed lately. */
  isAwake(epoch: number): boolean;
  /** Whether one of them sends from a source. */
  serves(source: string): boolean;
}

interface Seen extends NodeBeat {
  quietMs: number;
  seenMs: number;
  sources: readonly string[];
}

/** `own`: this node. `sharedSources`: those whose limits are kept by a lease, so others may use them too. */
export function createOtherNodes(
  { clock, log }: { clock: Pick<Clock, 'monotonicMs'>; log: Logger },
  own: Pick<NodeAbout, 'version' | 'sources'>,
  { beatMs, sharedSources }: { beatMs: number; sharedSources: ReadonlySet<string> },
): OtherNodes {
  const seen = new Map<number, Seen>();
  /** Sources that were warned of. */
  const warned = new Set<string>();

  return {
    saw(living) {
      const nowMs = clock.monotonicMs();
      const epochs = new Set(living.map(({ epoch }) => epoch));
      for (const epoch of seen.keys()) if (!epochs.has(epoch)) seen.delete(epoch);
      for (const other of living) {
        const known = seen.get(other.epoch);
        // While this node was paused itself, it did not see the heartbeats of others.
        const sinceMs = known === undefined ? 0 : Math.min(nowMs - known.seenMs, 2 * beatMs);
        const quietMs = known?.beat === other.beat ? known.quietMs + sinceMs : 0;
        const { epoch, beat, sources } = other;
        seen.set(epoch, { epoch, beat, sources, quietMs, seenMs: nowMs });
        if (known === undefined) compareVersion(other);
        compareSources(other);
      }
    },
    all: () => quietFor(0),
    quietFor,
    isAwake: (epoch) => (seen.get(epoch)?.quietMs ?? Number.POSITIVE_INFINITY) <= 2 * beatMs,
    serves: (source) => [...seen.values()].some(({ sources }) => sources.includes(source)),
  };

  function quietFor(ms: number): NodeBeat[] {
    return [...seen.values()]
      .filter(({ quietMs }) => quietMs >= ms)
      .map(({ epoch, beat }) => ({ epoch, beat }));
  }

  function compareVersion({ version, nodeId }: LivingNode): void {
    if (version === own.version) return;
    const versions = { version: version || 'unknown', own: own.version };
    log.info({ node: nodeId, ...versions }, 'a node of another version works on the database');
  }

  function compareSources({ sources, nodeId }: LivingNode): void {
    for (const source of sources) {
      if (!own.sources.includes(source) || sharedSources.has(source) || warned.has(source)) continue;
      warned.add(source);
      log.warn(
        { source, node: nodeId },
        'another node sends from this source too, and it is not marked shared: its limits are kept twice',
      );
    }
  }
}
