/** What can be set for a domain, each explained, errors at their field; and its removal. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import type { Domain } from '../../../src/client/api-types.ts';
import { fieldError } from '../../api/call.ts';
import { changeDomain, DOMAINS, domainKey, removeDomain } from '../../api/domains.ts';
import { ME, mayDo } from '../../api/me.ts';
import { Button } from '../../components/button.tsx';
import { FormError } from '../../components/field.tsx';
import { NameDialog } from '../../components/name-dialog.tsx';
import { Section } from '../../components/page.tsx';
import { toast } from '../../components/toasts.tsx';
import { changeOf, type Draft, draftOf } from './settings-draft.ts';
import { SettingsFields } from './settings-fields.tsx';

export function SettingsView({
  domain,
  mayChange,
  onChanged,
}: {
  domain: Domain;
  mayChange: boolean;
  onChanged(domain: Domain): void;
}) {
  /** What is edited, and what it was: the domain may change meanwhile, and only what was edited is sent. */
  const [{ draft, base }, setEdited] = useState(() => ({ draft: draftOf(domain), base: domain }));
  const edit = (next: Draft): void => setEdited({ draft: next, base });
  const show = (current: Domain): void => setEdited({ draft: draftOf(current), base: current });
  const { data: me } = useQuery(ME);
  const isOperator = mayDo(me, 'admin') && me?.AllDomains === true;
  const change = changeOf(draft, base);
  if (change === null && base !== domain) show(domain);
  const saving = useMutation({
    mutationFn: () => (change === null ? Promise.resolve(domain) : changeDomain(domain.Domain, change)),
    onSuccess: (changed) => {
      const hasNew = changed.DnsRecords.length !== domain.DnsRecords.length;
      onChanged(changed);
      show(changed);
      toast({ text: hasNew ? 'Saved. The DNS records changed: publish them' : 'Saved' });
    },
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    saving.mutate();
  };
  const pointers = [...Object.keys(draft.flags), ...Object.keys(draft.texts)];
  const isAtField = pointers.some((pointer) => fieldError(saving.error, pointer) !== undefined);
  return (
    <>
      <form onSubmit={submit} className="grid gap-5">
        <SettingsFields
          name={domain.Domain}
          draft={draft}
          onDraft={edit}
          error={saving.error}
          mayChange={mayChange}
          mayQuota={isOperator}
        />
        {!isAtField && <FormError error={saving.error} />}
        {mayChange && (
          <div className="flex gap-2">
            <Button type="submit" look="main" isBusy={saving.isPending || change === null}>
              Save
            </Button>
            {change !== null && (
              <Button
                onClick={() => {
                  show(domain);
                  saving.reset();
                }}
              >
                Undo changes
              </Button>
            )}
          </div>
        )}
      </form>
      {mayChange && <Removal domain={domain} isOperator={isOperator} />}
    </>
  );
}

function Removal({ domain, isOperator }: { domain: Domain; isOperator: boolean }) {
  const [asks, setAsks] = useState(false);
  const queries = useQueryClient();
  const navigate = useNavigate();
  const name = domain.Domain;
  const hasQuota = Object.values(domain.Quota).some((limit) => limit !== null);
  return (
    <Section title="Remove this domain">
      <p className="max-w-prose text-soft">
        Its keys, webhooks and templates are gone for good, and its mail that waits is held. Messages, events
        and suppressions stay.
      </p>
      {hasQuota && !isOperator ? (
        <p>It has a quota: an operator of the server has to remove it.</p>
      ) : (
        <Button look="danger" className="justify-self-start" onClick={() => setAsks(true)}>
          Remove…
        </Button>
      )}
      {asks && (
        <NameDialog
          title={`Remove ${name}?`}
          name={name}
          action="Remove"
          run={() => removeDomain(name)}
          said={`${name} is removed`}
          onDone={() => {
            void navigate({ to: '/domains' }).then(() => {
              queries.removeQueries({ queryKey: domainKey(name) });
              void queries.invalidateQueries({ queryKey: ME.queryKey });
              return queries.invalidateQueries({ queryKey: DOMAINS });
            });
          }}
          onClose={() => setAsks(false)}
        >
          <p>
            Nothing is sent in its name from then on. This cannot be undone: added again, it has new keys.
          </p>
        </NameDialog>
      )}
    </Section>
  );
}
