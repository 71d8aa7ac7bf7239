/**
 * Access: tokens, SMTP credentials, people, and who changed what. Which of them is shown stands in the address; a tab that
 * the person may not read is not there.
 */
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import type { Me } from '../../../src/client/api-types.ts';
import { ME, mayDo } from '../../api/me.ts';
import { Notice } from '../../components/notice.tsx';
import { NotYet, Page } from '../../components/page.tsx';
import { Segments } from '../../components/segments.tsx';
import { AuditView } from './audit/audit-view.tsx';
import { PeopleView } from './people/people-view.tsx';
import { CredentialsView } from './smtp/credentials-view.tsx';
import { TokensView } from './tokens/tokens-view.tsx';

const TABS = [
  { value: 'tokens', name: 'Tokens', scope: 'tokens:read', view: TokensView },
  { value: 'smtp', name: 'SMTP', scope: 'smtp:write', view: CredentialsView },
  { value: 'people', name: 'People', scope: 'admin', view: PeopleView },
  { value: 'audit', name: 'Audit', scope: 'admin', view: AuditView },
] as const;

export function AccessPlace() {
  const { data: me, error, refetch } = useQuery(ME);
  return (
    <Page title="Access" error={error}>
      {me === undefined ? <NotYet error={error} onAgain={() => void refetch()} /> : <AccessTabs me={me} />}
    </Page>
  );
}

function AccessTabs({ me }: { me: Me }) {
  const { tab } = useSearch({ from: '/access' });
  const navigate = useNavigate({ from: '/access' });
  const tabs = TABS.filter(({ scope }) => mayDo(me, scope));
  const shown = tabs.find(({ value }) => value === tab) ?? tabs[0];
  if (shown === undefined)
    return (
      <Notice title="There is nothing here for you">Your rights do not include tokens or logins.</Notice>
    );
  const View = shown.view;
  return (
    <>
      {tabs.length > 1 && (
        <Segments
          label="What is shown"
          value={shown.value}
          onValue={(next) => void navigate({ search: next === 'tokens' ? {} : { tab: next }, replace: true })}
          choices={tabs}
        />
      )}
      <View me={me} />
    </>
  );
}
