/** The people who may sign in: their role, their domains, when they signed in last. For operators. */
import { useQuery } from '@tanstack/react-query';
import { Plus, Users } from 'lucide-react';
import { useState } from 'react';
import type { Me, Person } from '../../../../src/client/api-types.ts';
import { listPeople } from '../../../api/access.ts';
import { commandOf } from '../../../api/me.ts';
import { SESSION } from '../../../api/session.ts';
import { Address } from '../../../components/addresses.tsx';
import { Button } from '../../../components/button.tsx';
import { CommandText } from '../../../components/copy.tsx';
import { type Columns, DataTable } from '../../../components/data-table.tsx';
import { Listing } from '../../../components/more-button.tsx';
import { Notice } from '../../../components/notice.tsx';
import { NotYet } from '../../../components/page.tsx';
import { usePages } from '../../../components/pages.ts';
import { SearchBox, useSearchBox } from '../../../components/search-box.tsx';
import { holdsWords } from '../../../components/search-text.ts';
import { Ago } from '../../../components/time.tsx';
import { DomainsText } from '../domains-text.tsx';
import { PEOPLE } from '../keys.ts';
import { NewPersonDialog } from './new-person-dialog.tsx';
import { PersonMenu } from './person-menu.tsx';
import { roleText } from './roles.ts';

export function PeopleView({ me }: { me: Me }) {
  const list = usePages(PEOPLE, listPeople, { isWhole: true });
  const search = useSearchBox('/access');
  const own = useQuery(SESSION).data?.Person?.PersonID;
  const [isAdding, setAdding] = useState(false);
  const { items } = list;
  if (items === undefined) return <NotYet error={list.error} onAgain={list.again} />;
  const found = items.filter((person) => holdsWords(saidOf(person), search.words));
  return (
    <>
      <div className="flex flex-wrap items-center justify-between gap-x-6 gap-y-2">
        <p className="max-w-prose text-soft">
          People sign in to this dashboard. Programs use tokens instead.
        </p>
        <Button look="main" onClick={() => setAdding(true)}>
          <Plus size={14} aria-hidden /> Add a person
        </Button>
      </div>
      {items.length > 1 && (
        <div className="flex max-w-md">
          <SearchBox {...search} label="Find a person" placeholder="Address, role or domain" />
        </div>
      )}
      <Listing
        list={list}
        found={found}
        search={{ ...search, nothing: 'Nobody matches', all: 'Show all people' }}
        empty={
          <Notice title="Nobody can sign in yet" icon={<Users aria-hidden />}>
            Add the first person here, or with{' '}
            <CommandText text={commandOf(me, 'user add you@example.com')} />
          </Notice>
        }
        more="Show more people"
      >
        {(rows) => (
          <DataTable
            label="People"
            isWide
            columns={columnsOf(own)}
            rows={rows}
            keyOf={({ PersonID }) => PersonID}
            actions={(person) => person.PersonID !== own && <PersonMenu me={me} person={person} />}
          />
        )}
      </Listing>
      {isAdding && <NewPersonDialog me={me} onClose={() => setAdding(false)} />}
    </>
  );
}

/** What a person is found by. */
function saidOf(person: Person): readonly string[] {
  const { Email, PersonID, Domains, DisabledAt } = person;
  const domains = Domains.includes('*') ? ['all domains'] : Domains;
  return [Email, PersonID, roleText(person), ...domains, DisabledAt === null ? '' : 'disabled'];
}

function columnsOf(own: string | undefined): Columns<Person> {
  return [
    {
      name: 'Person',
      width: 'w-4/12',
      cell: ({ PersonID, Email, DisabledAt, HasPassword, SecondFactor }) => (
        <>
          <span className={DisabledAt === null ? '' : 'text-soft line-through'}>
            <Address text={Email} />
          </span>
          {PersonID === own && <span className="ml-2 font-normal text-soft">you</span>}
          {!HasPassword && <span className="block text-soft text-xs">without a password</span>}
          {SecondFactor && <span className="block text-soft text-xs">with a second factor</span>}
          {DisabledAt !== null && (
            <span className="ml-2 font-normal text-warn">
              disabled <Ago at={DisabledAt} />
            </span>
          )}
        </>
      ),
    },
    { name: 'Role', cell: roleText },
    { name: 'Domains', width: 'w-3/12', cell: ({ Domains }) => <DomainsText domains={Domains} /> },
    {
      name: 'Last sign-in',
      width: 'w-32',
      cell: ({ LastSignInAt }) =>
        LastSignInAt === null ? <span className="text-soft">never</span> : <Ago at={LastSignInAt} />,
    },
    { name: 'Added', width: 'w-24', cell: ({ CreatedAt }) => <Ago at={CreatedAt} /> },
  ];
}
