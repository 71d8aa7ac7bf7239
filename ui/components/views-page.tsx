/** A place whose views are chosen side by side, by what the person may see. */
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import type { ComponentType } from 'react';
import type { Me } from '../../src/client/api-types.ts';
import { ME, mayDo } from '../api/me.ts';
import { Notice } from './notice.tsx';
import { NotYet, Page } from './page.tsx';
import { Segments } from './segments.tsx';

type ViewsPath = '/access' | '/system';

interface View {
  value: string;
  name: string;
  /** What shows it: this scope, or this operation alone. */
  scope: string;
  operation?: string;
  View: ComponentType<{ me: Me }>;
}

export function ViewsPage({
  title,
  from,
  views,
}: {
  title: string;
  from: ViewsPath;
  views: readonly View[];
}) {
  const { data: me, error, refetch } = useQuery(ME);
  return (
    <Page title={title} error={error}>
      {me === undefined ? (
        <NotYet error={error} onAgain={() => void refetch()} />
      ) : (
        <Views me={me} from={from} views={views} />
      )}
    </Page>
  );
}

/** Which view is shown stands in the address as `tab`; one that the person may not see is not offered. */
function Views({ me, from, views }: { me: Me; from: ViewsPath; views: readonly View[] }) {
  const { tab } = useSearch({ from });
  const navigate = useNavigate({ from });
  const seen = views.filter(({ scope, operation }) => mayDo(me, scope, operation));
  const shown = views.find(({ value }) => value === tab) ?? seen[0];
  const isSeen = shown !== undefined && seen.includes(shown);
  return (
    <>
      {seen.length > (isSeen ? 1 : 0) && (
        <Segments
          label="What is shown"
          value={shown?.value ?? ''}
          onValue={(next) => void navigate({ search: next === seen[0]?.value ? {} : { tab: next } })}
          choices={seen}
        />
      )}
      {isSeen ? (
        <shown.View me={me} />
      ) : (
        <Notice title="You may not see this">
          Your rights do not include {shown === undefined ? 'anything here' : `“${shown.name}”`}. An operator
          can give them to you.
        </Notice>
      )}
    </>
  );
}
