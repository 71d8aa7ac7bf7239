/**
 * GET /nodes: the processes on this store, living ones first, with their leases and singleton jobs. For admin tokens
 * of all domains.
 */
import { z } from 'zod';
import { differingSettings } from '../../../model/node.ts';
import type { NodeRow } from '../../../store/topics/nodes.ts';
import { type Answer, count, pageOf, time } from '../answer-schemas.ts';
import type { ApiParts } from '../deps.ts';
import { operation } from '../operation.ts';
import { inOrder, memoryPaging } from '../paging.ts';
import { type ApiRoute, isoTime, isoTimeOrNull } from '../route.ts';

const nodeItem = z
  .object({
    Node: z.string().describe('Stays the same over restarts'),
    Epoch: count.describe('Another one with every start'),
    Self: z.boolean().describe('The one that answers'),
    Status: z
      .enum(['Alive', 'Silent', 'Ended', 'Lost'])
      .describe(
        'Silent: it has sent no heartbeat for a while, and will soon count as dead. Lost: it ended without stopping, because it was killed, crashed or was silent for too long',
      ),
    Host: z.string().describe('Its `node-name`, by default the name of its machine'),
    Pid: count,
    Version: z.string().describe('Of its program; empty if it is older than this field'),
    Schema: count.describe('Up to which number its program knows the schema of the database; 0 = unknown'),
    Roles: z.array(z.string()),
    Sources: z
      .array(z.string())
      .describe('Ids of the sources it sends from; empty = the address of the machine'),
    DiffersIn: z
      .array(z.string())
      .describe(
        'Settings in which it differs from the one that answers, of those that all nodes should have alike',
      ),
    StartedAt: time,
    HeartbeatAt: time.describe('By its own clock; a process that is alone with its database says it once'),
    EndedAt: time.nullable(),
    Sending: count.describe('Recipients under its lease'),
    Leases: z
      .array(z.string())
      .describe('What it alone does: `send SOURCE>SITE` for shared sources, `upkeep` for the instance'),
  })
  .meta({ id: 'Node' });

type NodeItem = Answer<typeof nodeItem>;

/** Five missed heartbeats (pipeline/queue/membership.ts). */
const SILENT_MS = 15_000;
const MAX_NODES = 1_000;
/** Living ones before those that ended, newest first. */
const PAGES = memoryPaging(
  'nodes',
  ({ epoch, endedAt }: NodeRow) => `${endedAt === null ? 1 : 0} ${inOrder(epoch)}`,
  { newestFirst: true },
);

export function nodeOperation({ store, clock, node }: ApiParts): ApiRoute {
  return operation('GET /nodes', {
    id: 'listNodes',
    scope: 'admin',
    summary: 'List the nodes',
    description:
      'The processes on this database, running ones first, then those that ended last, a page: `{Node, Epoch, Self, Status, Host, Pid, Version, Schema, Roles, Sources, DiffersIn, StartedAt, HeartbeatAt, EndedAt, Sending, Leases}`',
    query: PAGES.query,
    answer: pageOf('NodesAnswer', nodeItem),
    handle: async ({ query }) => {
      const rows = await store.listNodes({ limit: MAX_NODES });
      const now = clock.now();
      const own = rows.find(({ epoch }) => epoch === node.epoch);
      return PAGES.pageOf(rows, query, (row) => toItem(row, own, now));
    },
  });
}

function toItem(row: NodeRow, own: NodeRow | undefined, now: number): NodeItem {
  const self = row === own;
  return {
    Node: row.nodeId,
    Epoch: row.epoch,
    Self: self,
    Status: statusOf(row, self, now),
    Host: row.host,
    Pid: row.pid,
    Version: row.version,
    Schema: row.schemaNumber,
    Roles: row.roles,
    Sources: row.sources,
    DiffersIn: row.endedAt === null ? differingSettings(own?.settings ?? {}, row.settings) : [],
    StartedAt: isoTime(row.startedAt),
    HeartbeatAt: isoTime(row.heartbeatAt),
    EndedAt: isoTimeOrNull(row.endedAt),
    Sending: row.sending,
    Leases: row.leases,
  };
}

function statusOf({ endedAt, lost, heartbeatAt }: NodeRow, self: boolean, now: number): NodeItem['Status'] {
  if (endedAt !== null) return lost ? 'Lost' : 'Ended';
  return !self && now - heartbeatAt > SILENT_MS ? 'Silent' : 'Alive';
}
