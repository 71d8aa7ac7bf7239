/** What waits for one site, by sender domain and priority. */
import type { Queue } from '../../../src/client/api-types.ts';
import { Ago, Until } from '../../components/time.tsx';
import { countText } from './reason-words.ts';

export function SiteQueues({ queues }: { queues: readonly Queue[] }) {
  /** Domains that share their hosts. */
  const isSeveral = new Set(queues.map(({ Site }) => Site)).size > 1;
  return (
    <div className="overflow-x-auto">
      <table className="w-full min-w-140 border-collapse text-left tabular-nums">
        <thead className="border-line border-b text-soft text-xs">
          <tr>
            <th className="py-1.5 pr-3 font-normal">From</th>
            {isSeveral && <th className="px-2 py-1.5 font-normal">To</th>}
            <th className="px-2 py-1.5 font-normal">Priority</th>
            <th className="px-2 py-1.5 text-right font-normal">Waiting</th>
            <th className="px-2 py-1.5 font-normal">Oldest</th>
            <th className="px-2 py-1.5 font-normal">Next try</th>
            <th className="px-2 py-1.5 font-normal">Route</th>
          </tr>
        </thead>
        <tbody>
          {queues.map((queue) => (
            <tr
              key={`${queue.Site} ${queue.SenderDomain} ${queue.Priority} ${queue.Tags.join()}`}
              className="border-line border-b align-top"
            >
              <td className="py-1.5 pr-3">
                <bdi>{queue.SenderDomain}</bdi>
              </td>
              {isSeveral && (
                <td className="px-2 py-1.5">
                  <bdi>{queue.Site}</bdi>
                </td>
              )}
              <td className="px-2 py-1.5">{queue.Priority}</td>
              <td className="px-2 py-1.5 text-right">{countText(queue.Waiting, queue.Complete)}</td>
              <td className="whitespace-nowrap px-2 py-1.5">
                <Ago at={queue.OldestAt} />
              </td>
              <td className="whitespace-nowrap px-2 py-1.5">
                {queue.NextDueAt === null ? 'held' : <Until at={queue.NextDueAt} />}
              </td>
              <td className="px-2 py-1.5 font-mono text-xs">
                {[queue.Route, ...queue.Tags.map((tag) => `#${tag}`)].join(' ')}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
