/** Access: tokens, SMTP credentials, people, and who changed what. */
import { useQuery } from '@tanstack/react-query';
import { ME } from '../../api/me.ts';
import { NotYet, Page } from '../../components/page.tsx';
import { Views } from '../../components/segments.tsx';
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
  const { data: me, error, refetch } = useQuery(ME);
  return (
    <Page title="Access" error={error}>
      {me === undefined ? (
        <NotYet error={error} onAgain={() => void refetch()} />
      ) : (
        <Views me={me} from="/access" views={VIEWS} />
      )}
    </Page>
  );
}
