/** What can be done with a token: replaced by a new one, or revoked, also with everything that was made with it. */
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { Token } from '../../../../src/client/api-types.ts';
import { revokeToken } from '../../../api/access.ts';
import { CheckField } from '../../../components/field.tsx';
import { MoreMenu } from '../../../components/menu.tsx';
import { NameDialog } from '../../../components/name-dialog.tsx';
import { countBelow } from './token-tree.ts';

export function TokenMenu({
  token,
  all,
  onReplace,
}: {
  token: Token;
  /** The tokens that are known. */
  all: readonly Token[];
  /** Its dialog shows the new token, also when the row of the old one is gone. */
  onReplace(): void;
}) {
  const [isRevoking, setRevoking] = useState(false);
  return (
    <>
      <MoreMenu
        label={`Actions for ${token.Name}`}
        entries={[
          ...(token.ReplacedBy === null ? [{ name: 'Replace…', run: onReplace }] : []),
          { name: 'Revoke…', run: () => setRevoking(true), isDangerous: true },
        ]}
      />
      {isRevoking && (
        <RevokeDialog
          token={token}
          below={countBelow(all, token.TokenID)}
          onClose={() => setRevoking(false)}
        />
      )}
    </>
  );
}

function RevokeDialog({ token, below, onClose }: { token: Token; below: number; onClose(): void }) {
  const queries = useQueryClient();
  const [withChildren, setChildren] = useState(false);
  return (
    <NameDialog
      title={`Revoke ${token.Name}`}
      action="Revoke"
      name={token.Name}
      run={() => revokeToken(token.TokenID, withChildren)}
      said={`${token.Name} is revoked`}
      onDone={() => void queries.invalidateQueries({ queryKey: ['access'] })}
      onClose={onClose}
    >
      <p>Programs that use this token are refused at once. This cannot be undone.</p>
      <CheckField
        label="Also revoke what was made with it"
        hint={`Tokens, SMTP credentials and webhooks${below === 0 ? '' : `; ${below} ${below === 1 ? 'token is' : 'tokens are'} below it`}`}
        checked={withChildren}
        onChange={({ target }) => setChildren(target.checked)}
      />
    </NameDialog>
  );
}
