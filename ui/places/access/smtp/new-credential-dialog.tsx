/** Makes a user name and a password for one domain, and shows them once. */
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { Me } from '../../../../src/client/api-types.ts';
import { createCredential } from '../../../api/access.ts';
import { Dialog, DialogForm } from '../../../components/dialog.tsx';
import { CheckField, Field } from '../../../components/field.tsx';
import { SenderDomain, useFirstDomain } from '../../../components/sender-domain.tsx';
import { CREDENTIALS } from '../keys.ts';
import { NewCredential } from './new-credential.tsx';

export function NewCredentialDialog({ me, onClose }: { me: Me; onClose(): void }) {
  const queries = useQueryClient();
  const first = useFirstDomain();
  const [domain, setDomain] = useState(first);
  const making = useMutation({
    mutationFn: createCredential,
    onSuccess: () => void queries.invalidateQueries({ queryKey: CREDENTIALS }),
  });
  const make = (form: FormData): void => {
    const name = String(form.get('Name')).trim();
    making.mutate({
      ...(name === '' ? {} : { Name: name }),
      Domain: domain.trim(),
      Sandbox: form.has('Sandbox'),
      Notices: form.has('Notices'),
    });
  };
  return (
    <Dialog
      isWide
      title={making.data === undefined ? 'New SMTP credential' : 'The new SMTP credential'}
      onClose={onClose}
    >
      {making.data === undefined ? (
        <DialogForm running={making} action="Make the credential" onSubmit={make} onCancel={onClose}>
          <SenderDomain value={domain} hint="Of its mail" onValue={setDomain} />
          <Field
            label="Name"
            name="Name"
            maxLength={128}
            autoComplete="off"
            hint="What uses it: “printer”, “shop”; the domain where left out"
          />
          <CheckField
            label="Tell the sender of failures by mail"
            name="Notices"
            defaultChecked
            hint="As mail servers do; programs that read events or webhooks do not need it"
          />
          <CheckField
            label="Sandbox only"
            name="Sandbox"
            hint="Everything that is sent with it is captured and never leaves this server"
          />
        </DialogForm>
      ) : (
        <NewCredential made={making.data} me={me} onClose={onClose} />
      )}
    </Dialog>
  );
}
