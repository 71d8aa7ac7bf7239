/** What narrows a token further: an end, addresses, a rate, the sandbox. */
import { fieldError } from '../../../api/call.ts';
import { CheckField, Field, Options, SelectField, TextField } from '../../../components/field.tsx';

const DAY = 86_400;
const ENDS = [
  [String(30 * DAY), 'in 30 days'],
  [String(90 * DAY), 'in 90 days'],
  ['', 'in a year'],
  ['never', 'never'],
] as const;

/** What is refused there is said there. */
export const LIMIT_FIELDS = ['/IPAllowList', '/RateLimit'] as const;

export function TokenLimits({ error }: { error: Error | null }) {
  return (
    <fieldset className="grid gap-3">
      <legend className="mb-1 font-semibold">Limits</legend>
      <div className="grid gap-3 min-[36rem]:grid-cols-2">
        <SelectField label="Ends" name="ExpiresIn" defaultValue="">
          <Options of={ENDS} />
        </SelectField>
        <Field
          label="Sends per second"
          name="RateLimit"
          error={fieldError(error, '/RateLimit')}
          type="number"
          min="0.01"
          max="1000000"
          step="any"
          placeholder="as the server allows"
        />
      </div>
      <TextField
        label="Only from these addresses"
        name="IPAllowList"
        error={fieldError(error, '/IPAllowList')}
        placeholder="203.0.113.7 10.0.0.0/8"
        hint="IP addresses or ranges, separated by blanks or lines; empty: from anywhere"
        spellCheck={false}
      />
      <CheckField
        label="Sandbox only"
        name="Sandbox"
        hint="Everything it sends is captured and never leaves this server"
      />
    </fieldset>
  );
}
