/**
 * System: what the doctor finds, the processes and their version, the warm-up, the configuration, and what was refused. Which
 * of them is shown stands in the address; a tab that the person may not read is not there.
 */
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { ME, mayDo } from '../../api/me.ts';
import { Notice } from '../../components/notice.tsx';
import { NotYet, Page } from '../../components/page.tsx';
import { Segments } from '../../components/segments.tsx';
import { ConfigView } from './config-view.tsx';
import { DoctorView } from './doctor/doctor-view.tsx';
import { RefusalsView } from './refusals/refusals-view.tsx';
import { ServerView } from './server-view.tsx';
import { WarmupView } from './warmup-view.tsx';

const TABS = [
  { value: 'checks', name: 'Checks', scope: 'admin', operation: 'runDoctor', View: DoctorView },
  { value: 'server', name: 'Server', scope: 'admin', operation: 'listNodes', View: ServerView },
  { value: 'warmup', name: 'Warm-up', scope: 'admin', operation: 'getWarmup', View: WarmupView },
  { value: 'config', name: 'Settings', scope: 'admin', operation: 'getConfig', View: ConfigView },
  { value: 'refused', name: 'Refused', scope: 'email:read', operation: 'listRefusals', View: RefusalsView },
] as const;

export function SystemPlace() {
  const { data: me, error, refetch } = useQuery(ME);
  const { tab } = useSearch({ from: '/system' });
  const navigate = useNavigate({ from: '/system' });
  const tabs = TABS.filter(({ scope, operation }) => mayDo(me, scope, operation));
  const shown = tabs.find(({ value }) => value === tab) ?? tabs[0];
  return (
    <Page title="System" error={error}>
      {shown !== undefined ? (
        <>
          {tabs.length > 1 && (
            <Segments
              label="What is shown"
              value={shown.value}
              onValue={(next) =>
                void navigate({ search: next === 'checks' ? {} : { tab: next }, replace: true })
              }
              choices={tabs}
            />
          )}
          <shown.View />
        </>
      ) : me === undefined ? (
        <NotYet error={error} onAgain={() => void refetch()} />
      ) : (
        <Notice title="There is nothing here for you">Operators see the server here.</Notice>
      )}
    </Page>
  );
}
