/** Adds a sender domain, and leads to its records. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { fieldError } from '../../api/call.ts';
import { addDomain, DOMAINS, domainKey } from '../../api/domains.ts';
import { ME, mayDo } from '../../api/me.ts';
import { Dialog, DialogForm } from '../../components/dialog.tsx';
import { CheckField, Field } from '../../components/field.tsx';

export function AddDialog({ onClose }: { onClose(): void }) {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const { data: me } = useQuery(ME);
  const [name, setName] = useState('');
  const [subdomains, setSubdomains] = useState(false);
  const [verified, setVerified] = useState(false);
  const adding = useMutation({
    mutationFn: () =>
      addDomain({
        Domain: name.trim(),
        ...(subdomains ? { Subdomains: true } : {}),
        ...(verified ? { Verified: true } : {}),
      }),
    onSuccess: (domain) => {
      void queries.invalidateQueries({ queryKey: [...DOMAINS, 'list'] });
      void queries.invalidateQueries({ queryKey: ME.queryKey });
      queries.setQueryData(domainKey(domain.Domain), domain);
      onClose();
      void navigate({ to: '/domains/$name', params: { name: domain.Domain } });
    },
  });
  const refused = fieldError(adding.error, '/Domain');
  return (
    <Dialog title="Add a domain" onClose={onClose}>
      <DialogForm
        running={adding}
        action="Add"
        isErrorAtField={refused !== undefined}
        onSubmit={() => adding.mutate()}
        onCancel={onClose}
      >
        <Field
          label="Domain"
          hint="What stands behind the @ of your From addresses."
          error={refused}
          placeholder="example.com"
          required
          autoFocus
          autoComplete="off"
          autoCapitalize="none"
          spellCheck={false}
          inputMode="url"
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
        <CheckField
          label="Its sub-domains may send too"
          hint="Such as news.example.com. You can change this later."
          checked={subdomains}
          onChange={(event) => setSubdomains(event.target.checked)}
        />
        {mayDo(me, 'admin') && me?.AllDomains === true && (
          <CheckField
            label="I vouch for it: let it send before its records are found"
            hint="Receivers still look for the records: publish them."
            checked={verified}
            onChange={(event) => setVerified(event.target.checked)}
          />
        )}
      </DialogForm>
    </Dialog>
  );
}
