/** The processes that work on the database, as rows. */
import type { Heartbeat, LivingNode, NodeStore } from '../../topics/nodes.ts';

/** An epoch that ended longer ago is deleted. */
export const EPOCH_KEPT_MS = 30 * 24 * 3_600_000;

/** Of a node that begins; its epoch and its schema are the engine's. */
export function newNodeRow({ nodeId, now, about }: Parameters<NodeStore['beginEpoch']>[0]) {
  return {
    node_id: nodeId,
    started_at: now,
    heartbeat_at: now,
    host: about?.host ?? '',
    pid: about?.pid ?? 0,
    roles: JSON.stringify(about?.roles ?? []),
    sources: JSON.stringify(about?.sources ?? []),
    settings: JSON.stringify(about?.settings ?? {}),
    version: about?.version ?? '',
  };
}

/** Another living node. */
export type OtherRow = Omit<LivingNode, 'sources'> & { sources: string };

/** A lease of the node that asks. */
export interface LeaseRow {
  name: string;
  askedBy: number | null;
}

/** What a heartbeat tells a living node of the others. */
export function aliveAmong(
  others: readonly OtherRow[],
  own: readonly LeaseRow[],
): Omit<Extract<Heartbeat, { kind: 'alive' }>, 'now'> {
  const living = new Set(others.map(({ epoch }) => epoch));
  return {
    kind: 'alive',
    others: others.map((row) => ({ ...row, sources: JSON.parse(row.sources) as string[] })),
    leases: own.map(({ name }) => name),
    asked: own.flatMap(({ name, askedBy }) =>
      askedBy !== null && living.has(askedBy) ? [{ name, by: askedBy }] : [],
    ),
  };
}
