/**
 * GET /nodes: the processes that work on this instance's store, living ones first, with what each holds and does alone.
 * For admin tokens of all domains.
 */
import type { Clock } from '../../../lib/clock.ts';
import type { NodeLease } from '../../../model/node.ts';
import type { Store } from '../../../store/store.ts';
import type { NodeRow } from '../../../store/topics/nodes.ts';
import type { NodeItem, NodesAnswer } from '../contract/answers/traffic.ts';
import { nodesAnswer } from '../contract/schemas/operator.ts';
import { PAGE } from '../contract/schemas/query.ts';
import { inOrder, memoryPage } from '../memory-page.ts';
import { type ApiRoute, isoTime, isoTimeOrNull, json } from '../route.ts';

/** Three beats that did not come (pipeline/queue/membership.ts). */
const SILENT_MS = 15_000;
const MAX_NODES = 1_000;

/** The one route. `node`: this process. */
export function nodeRoutes(deps: { store: Store; clock: Clock; node: NodeLease }): readonly ApiRoute[] {
  const { store, clock, node } = deps;
  return [
    {
      method: 'GET',
      path: '/nodes',
      scope: 'admin',
      contract: {
        id: 'listNodes',
        summary: 'List the nodes',
        description:
          'The processes that work on this instance, living ones first, then the last starts that ended, a page: `{Node, Epoch, Self, Status, Host, Pid, Roles, Sources, StartedAt, HeartbeatAt, EndedAt, Sending, Leases}`',
        query: PAGE,
        answer: nodesAnswer,
      },
      handle: async ({ query }) => {
        const rows = await store.listNodes({ limit: MAX_NODES });
        const now = clock.now();
        const answer: NodesAnswer = memoryPage(query, rows, {
          list: 'nodes',
          // Living ones before those that ended, newest first.
          keyOf: ({ epoch, endedAt }) => `${endedAt === null ? 1 : 0} ${inOrder(epoch)}`,
          newestFirst: true,
          itemOf: (row) => toItem(row, row.epoch === node.epoch, now),
        });
        return json(answer);
      },
    },
  ];
}

function toItem(row: NodeRow, self: boolean, now: number): NodeItem {
  const silent = !self && now - row.heartbeatAt > SILENT_MS;
  return {
    Node: row.nodeId,
    Epoch: row.epoch,
    Self: self,
    Status: row.endedAt !== null ? 'Ended' : silent ? 'Silent' : 'Alive',
    Host: row.host,
    Pid: row.pid,
    Roles: row.roles,
    Sources: row.sources,
    StartedAt: isoTime(row.startedAt),
    HeartbeatAt: isoTime(row.heartbeatAt),
    EndedAt: isoTimeOrNull(row.endedAt),
    Sending: row.sending,
    Leases: row.leases,
  };
}
