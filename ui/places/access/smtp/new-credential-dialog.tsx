/** Makes a user name and a password for one domain, and shows them once. */
import { keepPreviousData, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { Me } from '../../../../src/client/api-types.ts';
import { createCredential } from '../../../api/access.ts';
import { listDomains } from '../../../api/domains.ts';
import { Dialog, DialogForm } from '../../../components/dialog.tsx';
import { CheckField, Field, Options, SelectField } from '../../../components/field.tsx';
import { CREDENTIALS } from '../keys.ts';
import { NewCredential } from './new-credential.tsx';

/** `GET /me` names so many domains at the most. */
const MOST_LISTED = 100;

export function NewCredentialDialog({ me, onClose }: { me: Me; onClose(): void }) {
  const queries = useQueryClient();
  const making = useMutation({
    mutationFn: createCredential,
    onSuccess: () => void queries.invalidateQueries({ queryKey: CREDENTIALS }),
  });
  const make = (form: FormData): void => {
    const name = String(form.get('Name')).trim();
    making.mutate({
      ...(name === '' ? {} : { Name: name }),
      Domain: String(form.get('Domain')).trim(),
      Sandbox: form.has('Sandbox'),
      Notices: form.has('Notices'),
    });
  };
  const domains = me.Domains.map(({ Domain }) => [Domain, Domain] as const);
  return (
    <Dialog
      isWide
      title={making.data === undefined ? 'New SMTP credential' : 'The new SMTP credential'}
      onClose={onClose}
    >
      {making.data === undefined ? (
        <DialogForm running={making} action="Make the credential" onSubmit={make} onCancel={onClose}>
          {domains.length === 0 || domains.length >= MOST_LISTED ? (
            <FoundDomain />
          ) : (
            <SelectField label="Domain" name="Domain" hint="The sender domain of its mail">
              <Options of={domains} />
            </SelectField>
          )}
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

/** A domain by its name, with those that contain what is typed. */
function FoundDomain() {
  const [text, setText] = useState('');
  const { data, isPlaceholderData } = useQuery({
    queryKey: ['domains', 'named', text],
    queryFn: ({ signal }) => listDomains(text.trim(), undefined, signal),
    placeholderData: keepPreviousData,
  });
  const isUnknown = data?.Items.length === 0 && !isPlaceholderData && text !== '';
  return (
    <>
      <Field
        label="Domain"
        name="Domain"
        required
        autoComplete="off"
        list="found-domains"
        hint="The sender domain of its mail: type a part of its name"
        error={isUnknown ? 'No sender domain has this name' : undefined}
        value={text}
        onChange={({ target }) => setText(target.value)}
      />
      <datalist id="found-domains">
        {data?.Items.map(({ Domain }) => (
          <option key={Domain} value={Domain} />
        ))}
      </datalist>
    </>
  );
}
