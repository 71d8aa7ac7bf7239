/** `nodes` lists the processes on this database, and the singleton jobs of each. */
import type { Node } from '../client/api-types.ts';
import type { Page } from '../client/many.ts';
import type { CommandGroup } from './command.ts';
import { printPages } from './lists.ts';
import { table } from './terminal.ts';

const MAX_LEASES = 5;
const LOST =
  'Lost = it ended without stopping: it was killed, crashed or was silent for too long. What it was sending may be sent twice';

export const nodesCommand: CommandGroup = (program) => {
  program
    .command('nodes')
    .description('list the processes on this database and the jobs that each does')
    .example('postrider nodes')
    .runs((ctx) => printPages(ctx, '/nodes', nodesText));
};

export function nodesText({ Items: all }: Page<Node>): string {
  // Each command that runs without a server begins an epoch of its node. Of the ended ones only the latest is shown.
  const latest = new Map<string, number>();
  for (const { Node, Epoch } of all) latest.set(Node, Math.max(Epoch, latest.get(Node) ?? 0));
  const Items = all.filter((item) => item.EndedAt === null || item.Epoch === latest.get(item.Node));
  const rows = table([
    [
      'NODE',
      'EPOCH',
      'STATUS',
      'HOST',
      'PID',
      'VERSION',
      'ROLES',
      'SENDING',
      'LAST HEARD OF',
      'ENDED',
      'DOES ALONE',
    ],
    ...Items.map((item) => [
      `${item.Node}${item.Self ? ' *' : ''}`,
      String(item.Epoch),
      item.Status,
      // Processes of earlier versions do not store it.
      item.Host || '-',
      item.Pid === 0 ? '-' : String(item.Pid),
      item.Version || '-',
      item.Roles.join(',') || '-',
      String(item.Sending),
      // A node that is alone with its database stores no heartbeat; this one has just answered.
      item.Self ? 'now' : item.HeartbeatAt,
      // Of a node that went silent, when the others took it for dead.
      item.EndedAt ?? '-',
      leasesText(item.Leases),
    ]),
  ]);
  // During an upgrade the server that answers may be of an earlier version, which does not compare settings.
  const differing = Items.filter(({ DiffersIn = [] }) => DiffersIn.length > 0).map(
    ({ Node, Host, DiffersIn }) =>
      `${Host || Node} has other values of ${DiffersIn.join(', ')} than the node that answers (*): give all nodes the same.`,
  );
  const lost = Items.some(({ Status }) => Status === 'Lost') ? [LOST] : [];
  return [rows, ...differing, '', '* = the node that answers', ...lost].join('\n');
}

function leasesText(leases: readonly string[]): string {
  const shown = leases.slice(0, MAX_LEASES).join(', ');
  return leases.length > MAX_LEASES ? `${shown} and ${leases.length - MAX_LEASES} more` : shown;
}
