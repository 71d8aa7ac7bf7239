/** The processes that work on this database, the version that answers, and how to back it up. */
import { useQuery } from '@tanstack/react-query';
import type { Node } from '../../../src/client/api-types.ts';
import { commandOf, ME } from '../../api/me.ts';
import { getConfig, listNodes } from '../../api/system.ts';
import { CodeBlock } from '../../components/copy.tsx';
import { MoreButton } from '../../components/more-button.tsx';
import { NotYet, Section } from '../../components/page.tsx';
import { usePages } from '../../components/pages.ts';
import { Ago, Instant, Lasting } from '../../components/time.tsx';
import { CONFIG, NODES } from './keys.ts';

export function ServerView() {
  const { data: me } = useQuery(ME);
  const nodes = usePages(NODES, listNodes);
  const config = useQuery({ queryKey: CONFIG, queryFn: ({ signal }) => getConfig(signal) });
  if (nodes.items === undefined || config.data === undefined)
    return (
      <NotYet
        error={nodes.error ?? config.error}
        onAgain={() => {
          nodes.again();
          void config.refetch();
        }}
      />
    );
  const { Mode, Version, Items } = config.data;
  const captures = Items.find(({ Key }) => Key === 'route')?.Value === 'sandbox';
  const running = nodes.items.filter(({ EndedAt }) => EndedAt === null);
  const silent = running.filter(({ Status }) => Status === 'Silent');
  return (
    <>
      {silent.map((node) => (
        <p key={node.Epoch} role="alert" className="rounded-md bg-warn-fill px-3 py-2 text-warn">
          {nameOf(node)} has been silent <Lasting at={node.HeartbeatAt} isLast /> If it does not come back,
          the others take over its mail; start it again, or look at its log.
        </p>
      ))}
      {running
        .filter(({ DiffersIn }) => DiffersIn.length > 0)
        .map((node) => (
          <p key={node.Epoch} role="alert" className="rounded-md bg-warn-fill px-3 py-2 text-warn">
            {nameOf(node)} has other values of {node.DiffersIn.join(', ')} than the process that answers, so
            it treats mail differently. Give both the same values, and restart the one that changes.
          </p>
        ))}
      <p>
        postrider {Version} runs {Mode === 'dev' ? 'for development' : 'in production'}
        {captures && ', and captures all mail'}.{' '}
        {running.length === 1
          ? 'One process works on this database.'
          : `${running.length} processes work on this database.`}{' '}
      </p>
      <Section title="Processes">
        <ul aria-label="Processes" className="grid border-line border-t">
          {nodes.items.map((node) => (
            <NodeRow key={node.Epoch} node={node} />
          ))}
        </ul>
        <MoreButton list={nodes}>Show those that ended before</MoreButton>
      </Section>
      <Section title="Backup">
        <p className="max-w-prose text-soft">
          One file holds the database and the secrets; it is written while the server runs. It gives full
          access: keep it as safe as the data folder. The server does not know of the backups that were made.
        </p>
        <CodeBlock
          text={commandOf(me, 'backup /var/backups/postrider-$(date +%F)')}
          label="Copy the command for a backup"
        />
      </Section>
    </>
  );
}

function NodeRow({ node }: { node: Node }) {
  const { Status, Self, StartedAt, EndedAt, Sending, Roles, Leases, Version } = node;
  const facts = [
    Version === '' ? null : `version ${Version}`,
    Roles.length === 0 ? null : Roles.join(', '),
    Sending === 0 ? null : `${Sending.toLocaleString()} recipients in its hands`,
    Leases.length === 0
      ? null
      : `does alone: ${Leases.slice(0, 3).join(', ')}${Leases.length > 3 ? ' …' : ''}`,
  ].filter((fact) => fact !== null);
  return (
    <li className={`grid gap-0.5 border-line border-b py-2 ${EndedAt === null ? '' : 'text-soft'}`}>
      <p>
        <span className={EndedAt === null ? 'font-semibold' : ''}>{nameOf(node)}</span>
        {Self && node.Host !== '' && ' (the one that answers)'}{' '}
        {EndedAt !== null ? (
          <>
            {Status === 'Lost' ? 'was lost' : 'ended'} <Ago at={EndedAt} />
          </>
        ) : Status === 'Silent' ? (
          <span className="text-warn">is silent</span>
        ) : (
          <>
            has been running since <Instant at={StartedAt} />
          </>
        )}
      </p>
      {facts.length > 0 && <p className="text-soft text-xs">{facts.join(' · ')}</p>}
    </li>
  );
}

/** Host and process are unknown of a process of an earlier version. */
function nameOf({ Host, Pid, Self, Node: id }: Node): string {
  if (Host !== '') return `${Host}, process ${Pid}`;
  return Self ? 'This process' : `Process ${id}`;
}
