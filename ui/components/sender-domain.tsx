/** Whose it is: one of the sender domains that a person may change. */
import { useQuery } from '@tanstack/react-query';
import { ME } from '../api/me.ts';
import { Field, SelectField } from './field.tsx';

/** The only domain of the person who asks, or nothing yet. */
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
  // GET /me names the first hundred.
  return names.length > 0 && names.length < 100 ? (
    <SelectField {...said} onChange={(event) => onValue(event.target.value)}>
      <option value="">Choose a domain</option>
      {names.map((name) => (
        <option key={name}>{name}</option>
      ))}
    </SelectField>
  ) : (
    <Field
      {...said}
      placeholder="example.com"
      spellCheck={false}
      onChange={(event) => onValue(event.target.value)}
    />
  );
}
