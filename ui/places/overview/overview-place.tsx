/** The overview: is anything wrong and what helps, before any figure; then what was sent, and how it was taken. */
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { lazy } from 'react';
import type { Attention } from '../../../src/client/api-types.ts';
import { ME, mayDo } from '../../api/me.ts';
import { getAttention } from '../../api/overview.ts';
import { LazyPart } from '../../components/missing.tsx';
import { NotYet, Page, Section } from '../../components/page.tsx';
import { Segments } from '../../components/segments.tsx';
import { useLive } from '../../components/use-live.ts';
import { AttentionList } from './attention-list.tsx';
import { FirstRun, useFirstFacts } from './first-run.tsx';
import { isCapturing } from './first-steps.ts';
import { RANGES } from './ranges.ts';

/** Loaded when what is wrong is on the screen. */
const Figures = lazy(async () => ({ default: (await import('./figures.tsx')).Figures }));
const EVERY_MS = 15_000;
const ATTENTION = ['attention'] as const;

export function OverviewPlace() {
  const { range = '24h', domain } = useSearch({ from: '/overview' });
  const navigate = useNavigate({ from: '/overview' });
  const facts = useFirstFacts();
  const captures = facts !== undefined && isCapturing(facts);
  const { data, error, again } = useLive(ATTENTION, getAttention, EVERY_MS);
  return (
    <Page title="Overview" error={error} tools={data !== undefined && <Waiting attention={data} />}>
      {data === undefined ? (
        <NotYet error={error} onAgain={again} />
      ) : (
        <>
          <AttentionList attention={data} />
          <FirstRun />
          <Section
            title={
              domain === undefined ? (
                'Sent mail'
              ) : (
                <>
                  Sent mail from <bdi>{domain}</bdi>
                </>
              )
            }
            aside={
              <span className="flex flex-wrap items-center gap-x-3">
                <Segments
                  label="How far back"
                  value={range}
                  onValue={(next) =>
                    void navigate({
                      search: ({ range: _, ...others }) => ({
                        ...others,
                        ...(next === '24h' ? {} : { range: next }),
                      }),
                    })
                  }
                  choices={RANGES.map(({ value, name }) => ({ value, name }))}
                />
                {domain !== undefined && (
                  <Link
                    to="/overview"
                    search={({ domain: _, ...others }) => others}
                    className="text-accent underline"
                  >
                    All domains
                  </Link>
                )}
              </span>
            }
          >
            {captures && <p className="text-soft">This server captures all mail: nothing was sent.</p>}
            <LazyPart waiting={<div className="h-64" />}>
              <Figures range={range} domain={domain} captures={captures} />
            </LazyPart>
          </Section>
        </>
      )}
    </Page>
  );
}

function Waiting({ attention: { Waiting: waiting, Complete } }: { attention: Attention }) {
  const { data: me } = useQuery(ME);
  const sum = waiting.critical + waiting.normal + waiting.bulk;
  const text = `${sum.toLocaleString()}${Complete ? '' : '+'} waiting`;
  return (
    <p className="text-soft tabular-nums">
      {mayDo(me, 'admin', 'getQueue') ? (
        <Link to="/queue" className="text-accent underline">
          {text}
        </Link>
      ) : (
        text
      )}
      {sum > 0 &&
        ` · ${waiting.critical.toLocaleString()} critical, ${waiting.normal.toLocaleString()} normal, ${waiting.bulk.toLocaleString()} bulk`}
    </p>
  );
}
