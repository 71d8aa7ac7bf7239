/** Sender domains to choose from: those that the person may give, and by name any other where that is all. */
import type { Me } from '../../../src/client/api-types.ts';
import { CheckField, Field } from '../../components/field.tsx';

export function DomainField({
  me,
  chosen,
  onChosen,
}: {
  me: Me;
  chosen: readonly string[];
  onChosen(domains: readonly string[]): void;
}) {
  const known = me.Domains.map(({ Domain }) => Domain);
  const others = chosen.filter((domain) => !known.includes(domain));
  const setOthers = (text: string): void =>
    onChosen([...chosen.filter((domain) => known.includes(domain)), ...wordsOf(text)]);
  return (
    <fieldset className="grid gap-3">
      <legend className="mb-1 font-semibold">Domains</legend>
      {known.length > 0 && (
        <div className="grid max-h-40 gap-1 overflow-y-auto rounded-md border border-line-strong p-2">
          {known.map((domain) => (
            <CheckField
              key={domain}
              label={domain}
              checked={chosen.includes(domain)}
              onChange={({ target }) =>
                onChosen(target.checked ? [...chosen, domain] : chosen.filter((one) => one !== domain))
              }
            />
          ))}
        </div>
      )}
      {me.AllDomains && (
        <Field
          label={known.length === 0 ? 'Domain names' : 'Other domains'}
          hint="Separated by blanks"
          autoComplete="off"
          defaultValue={others.join(' ')}
          onChange={({ target }) => setOthers(target.value)}
        />
      )}
    </fieldset>
  );
}

/** What stands between blanks and commas. */
export function wordsOf(text: string): string[] {
  return text.split(/[\s,]+/).filter((word) => word !== '');
}
