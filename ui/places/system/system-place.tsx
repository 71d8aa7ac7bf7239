/** System: what the doctor finds, the processes and their version, the warm-up, the configuration, and what was refused. */
import { useQuery } from '@tanstack/react-query';
import { ME } from '../../api/me.ts';
import { NotYet, Page } from '../../components/page.tsx';
import { Views } from '../../components/segments.tsx';
import { ConfigView } from './config-view.tsx';
import { DoctorView } from './doctor/doctor-view.tsx';
import { RefusalsView } from './refusals/refusals-view.tsx';
import { ServerView } from './server-view.tsx';
import { WarmupView } from './warmup-view.tsx';

const VIEWS = [
  { value: 'checks', name: 'Checks', scope: 'admin', operation: 'runDoctor', View: DoctorView },
  { value: 'server', name: 'Server', scope: 'admin', operation: 'listNodes', View: ServerView },
  { value: 'warmup', name: 'Warm-up', scope: 'admin', operation: 'getWarmup', View: WarmupView },
  { value: 'config', name: 'Settings', scope: 'admin', operation: 'getConfig', View: ConfigView },
  { value: 'refused', name: 'Refused', scope: 'email:read', operation: 'listRefusals', View: RefusalsView },
] as const;

export function SystemPlace() {
  const { data: me, error, refetch } = useQuery(ME);
  return (
    <Page title="System" error={error}>
      {me === undefined ? (
        <NotYet error={error} onAgain={() => void refetch()} />
      ) : (
        <Views me={me} from="/system" views={VIEWS} />
      )}
    </Page>
  );
}
