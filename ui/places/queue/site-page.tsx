/**
 * One site: why its mail waits and until when, what may be done, its paths with their limits, and when it was closed. Found
 * by any of its names: a recipient domain, a provider, a relay.
 */
import { useParams } from '@tanstack/react-router';
import { Zap } from 'lucide-react';
import type { QueueAnswer, Site } from '../../../src/client/api-types.ts';
import { getQueue, getSite } from '../../api/queue.ts';
import { Button } from '../../components/button.tsx';
import { countOf, countText } from '../../components/count.ts';
import { NotYet, Page, Section } from '../../components/page.tsx';
import { useKeys } from '../../components/use-keys.ts';
import { useLive } from '../../components/use-live.ts';
import { HoldButton } from './hold-dialog.tsx';
import { HoldList } from './holds-view.tsx';
import { LimitsTable } from './limits-table.tsx';
import { PathSection } from './path-section.tsx';
import { reasonText } from './reason-words.ts';
import { SiteHistory } from './site-history.tsx';
import { SiteQueues } from './site-queues.tsx';
import { useTry } from './use-try.ts';

const EVERY_MS = 10_000;

export function SitePage() {
  const { site } = useParams({ from: '/queue/$site' });
  const { data, error, again } = useLive(
    ['queue', 'site', site],
    (signal) => getSite(site, signal),
    EVERY_MS,
  );
  const queue = useLive(['queue', 'list'], getQueue, EVERY_MS);
  const { tryNow, isTrying } = useTry(site);
  useKeys({ u: () => history.back() });
  return (
    <Page
      error={error}
      back={{ to: '/queue', label: 'Back to the queue', keys: 'u' }}
      name={site}
      title={<bdi>{site}</bdi>}
      tools={
        <div className="ml-auto flex gap-2">
          <HoldButton to={site}>Hold…</HoldButton>
          <Button look="main" onClick={tryNow} isBusy={isTrying}>
            <Zap size={14} aria-hidden /> Try now
          </Button>
        </div>
      }
    >
      {data === undefined ? (
        <NotYet error={error} onAgain={again} />
      ) : (
        <SiteFacts site={data} queue={queue.data} />
      )}
    </Page>
  );
}

function SiteFacts({ site, queue }: { site: Site; queue: QueueAnswer | undefined }) {
  const domains = new Set([site.Site, ...site.Paths.flatMap(({ Domains }) => Domains)]);
  const queues = queue?.Queues.filter((one) => domains.has(one.Site)) ?? [];
  return (
    <>
      <Section title={`${countText(site.Waiting, site.Complete)} waiting`}>
        {site.Note !== '' && <p className="text-soft">{site.Note}.</p>}
        {site.Reasons.length > 0 && (
          <ul aria-label="Why it waits" className="grid gap-1">
            {site.Reasons.map(({ Reason, Count, Reply }) => (
              <li key={Reason}>
                {reasonText(Reason)} <span className="text-soft tabular-nums">({countText(Count)})</span>
                {Reply !== null && (
                  <p className="font-mono text-soft text-xs" dir="ltr">
                    {Reply}
                  </p>
                )}
              </li>
            ))}
          </ul>
        )}
        {queues.length > 0 && <SiteQueues queues={queues} />}
      </Section>
      {site.Holds.length > 0 && (
        <Section title={countOf(site.Holds.length, 'hold')}>
          <HoldList holds={site.Holds} />
        </Section>
      )}
      {site.Relays.map(({ Relay, Failures, Why }) => (
        <Section key={Relay} title={`Relay ${Relay}`}>
          <p className="text-bad">
            Failed {countOf(Failures, 'time')} in a row: {Why}
          </p>
        </Section>
      ))}
      {site.Paths.map((path) => (
        <PathSection key={`${path.Source}>${path.Site}`} path={path} isOnly={site.Paths.length === 1} />
      ))}
      {site.Paths.length === 0 && site.Limits.length > 0 && (
        <Section title="Limits it would begin with">
          <LimitsTable limits={site.Limits} />
        </Section>
      )}
      <SiteHistory history={site.History} />
    </>
  );
}
