/** User names and passwords for programs that send by SMTP: for which domain each is, who made it, and where to connect. */
import { useQueryClient } from '@tanstack/react-query';
import { Plus, Server, Trash2 } from 'lucide-react';
import { useState } from 'react';
import type { Me, SmtpCredential } from '../../../../src/client/api-types.ts';
import { listCredentials, removeCredential } from '../../../api/access.ts';
import { Button, IconButton } from '../../../components/button.tsx';
import { type Columns, DataTable } from '../../../components/data-table.tsx';
import { Listing } from '../../../components/more-button.tsx';
import { NameDialog } from '../../../components/name-dialog.tsx';
import { Notice } from '../../../components/notice.tsx';
import { NotYet } from '../../../components/page.tsx';
import { usePages } from '../../../components/pages.ts';
import { SearchBox, useSearchBox } from '../../../components/search-box.tsx';
import { holdsWords } from '../../../components/search-text.ts';
import { Ends } from '../../../components/time.tsx';
import { CREDENTIALS } from '../keys.ts';
import { Made, useMakerText } from '../makers.tsx';
import { securityText } from './client-settings.ts';
import { NewCredentialDialog } from './new-credential-dialog.tsx';

export function CredentialsView({ me }: { me: Me }) {
  const list = usePages(CREDENTIALS, listCredentials, { isWhole: true });
  const search = useSearchBox('/access');
  const makerText = useMakerText(me);
  const [isMaking, setMaking] = useState(false);
  const [removed, setRemoved] = useState<SmtpCredential | null>(null);
  const { items } = list;
  if (items === undefined) return <NotYet error={list.error} onAgain={list.again} />;
  const found = items.filter(({ Name, Username, Domain, CreatedBy }) =>
    holdsWords([Name, Username, Domain, makerText(CreatedBy)], search.words),
  );
  return (
    <>
      <div className="flex flex-wrap items-center justify-between gap-x-6 gap-y-2">
        <WhereText me={me} />
        <Button look="main" onClick={() => setMaking(true)}>
          <Plus size={14} aria-hidden /> New SMTP credential
        </Button>
      </div>
      {items.length > 1 && (
        <div className="flex max-w-md">
          <SearchBox
            {...search}
            label="Find an SMTP credential"
            placeholder="Name, user name, domain or maker"
          />
        </div>
      )}
      <Listing
        list={list}
        found={found}
        search={{ ...search, nothing: 'No SMTP credential matches', all: 'Show all SMTP credentials' }}
        empty={
          <Notice title="No SMTP credentials yet" icon={<Server aria-hidden />}>
            Programs that send by SMTP (shops, printers, other mail servers) need a user name and a password.
            A token also works as a password.
          </Notice>
        }
        more="Show older credentials"
      >
        {(rows) => (
          <DataTable
            label="SMTP credentials"
            columns={columnsOf(makerText)}
            rows={rows}
            keyOf={({ CredentialID }) => CredentialID}
            actions={(row) => (
              <IconButton label={`Revoke ${row.Username}`} onClick={() => setRemoved(row)}>
                <Trash2 size={16} aria-hidden />
              </IconButton>
            )}
          />
        )}
      </Listing>
      {isMaking && <NewCredentialDialog me={me} onClose={() => setMaking(false)} />}
      {removed !== null && <RemoveDialog credential={removed} onClose={() => setRemoved(null)} />}
    </>
  );
}

function WhereText({ me: { Submission } }: { me: Me }) {
  return (
    <p className="max-w-prose text-soft">
      {Submission.length === 0
        ? 'This server takes no mail by SMTP: set submission or submission-tls to open a port.'
        : `Programs connect to ${Submission.map((port) => `${port.Host}:${port.Port} with ${securityText(port)}`).join(', or ')}.`}
    </p>
  );
}

function columnsOf(makerText: (id: string | null) => string): Columns<SmtpCredential> {
  return [
    { name: 'Name', width: 'w-3/12', cell: ({ Name }) => <bdi>{Name}</bdi> },
    {
      name: 'User name',
      cell: ({ Username, Sandbox }) => (
        <>
          <span className="font-mono text-xs">{Username}</span>
          {Sandbox && <span className="block text-soft text-xs">Sandbox only</span>}
        </>
      ),
    },
    { name: 'Domain', width: 'w-3/12', cell: ({ Domain }) => <bdi>{Domain}</bdi> },
    { name: 'Ends', width: 'w-32', cell: ({ ExpiresAt }) => <Ends at={ExpiresAt} /> },
    {
      name: 'Made',
      width: 'w-2/12',
      cell: ({ CreatedAt, CreatedBy }) => <Made at={CreatedAt} by={makerText(CreatedBy)} />,
    },
  ];
}

function RemoveDialog({ credential, onClose }: { credential: SmtpCredential; onClose(): void }) {
  const queries = useQueryClient();
  const { CredentialID, Name, Username } = credential;
  return (
    <NameDialog
      title={`Revoke ${Name}`}
      action="Revoke"
      name={Username}
      run={() => removeCredential(CredentialID)}
      said={`${Username} is revoked`}
      onDone={() => void queries.invalidateQueries({ queryKey: CREDENTIALS })}
      onClose={onClose}
    >
      <p>Programs that log in with it are refused at once. This cannot be undone.</p>
    </NameDialog>
  );
}
