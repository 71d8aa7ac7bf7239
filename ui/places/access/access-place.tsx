/** Access: tokens, SMTP credentials, people, and who changed what. */
import { ViewsPage } from '../../components/views-page.tsx';
import { AuditView } from './audit/audit-view.tsx';
import { PeopleView } from './people/people-view.tsx';
import { CredentialsView } from './smtp/credentials-view.tsx';
import { TokensView } from './tokens/tokens-view.tsx';

const VIEWS = [
  { value: 'tokens', name: 'Tokens', scope: 'tokens:read', View: TokensView },
  { value: 'smtp', name: 'SMTP', scope: 'smtp:write', View: CredentialsView },
  { value: 'people', name: 'People', scope: 'admin', View: PeopleView },
  { value: 'audit', name: 'Audit', scope: 'admin', View: AuditView },
] as const;

export function AccessPlace() {
  return <ViewsPage title="Access" from="/access" views={VIEWS} />;
}
