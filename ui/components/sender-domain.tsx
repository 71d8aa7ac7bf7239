/** Whose it is: one of the sender domains that a person may change, of many found by a part of its name. */
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useId } from 'react';
import { listDomains } from '../api/domains.ts';
import { ME, mayDo } from '../api/me.ts';
import { Field, SelectField } from './field.tsx';

/** `GET /me` names so many domains at the most. */
const MOST_LISTED = 100;

/** The domain of the signed-in person, if there is only one and it is known. */
export function useFirstDomain(): string {
  const { data: me } = useQuery(ME);
  return me?.Domains.length === 1 ? (me.Domains[0]?.Domain ?? '') : '';
}

export function SenderDomain({
  value,
  hint,
  onValue,
  error,
}: {
  value: string;
  hint: string;
  onValue(domain: string): void;
  error?: string | undefined;
}) {
  const { data: me } = useQuery(ME);
  const names = me?.Domains.map(({ Domain }) => Domain) ?? [];
  const said = {
    label: 'Sender domain',
    hint,
    error,
    required: true,
    value,
  };
  const isChosen = names.length > 0 && names.length < MOST_LISTED;
  const list = useId();
  const found = useQuery({
    queryKey: ['domains', 'named', value],
    queryFn: ({ signal }) => listDomains(value.trim(), undefined, signal),
    placeholderData: keepPreviousData,
    enabled: me !== undefined && !isChosen && mayDo(me, 'domains:read'),
  });
  const isUnknown = found.data?.Items.length === 0 && !found.isPlaceholderData && value !== '';
  return isChosen ? (
    <SelectField {...said} onChange={(event) => onValue(event.target.value)}>
      <option value="">Choose a domain</option>
      {names.map((name) => (
        <option key={name}>{name}</option>
      ))}
    </SelectField>
  ) : (
    <>
      <Field
        {...said}
        error={error ?? (isUnknown ? 'No sender domain has this name' : undefined)}
        placeholder="A part of its name"
        autoComplete="off"
        spellCheck={false}
        list={list}
        onChange={(event) => onValue(event.target.value)}
      />
      <datalist id={list}>
        {found.data?.Items.map(({ Domain }) => (
          <option key={Domain} value={Domain} />
        ))}
      </datalist>
    </>
  );
}
