/** System: what the doctor finds, the processes and their version, the warm-up, the configuration, and what was refused. */
import { ViewsPage } from '../../components/views-page.tsx';
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
  return <ViewsPage title="System" from="/system" views={VIEWS} />;
}
