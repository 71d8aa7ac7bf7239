/** Which column holds what, which service exported the file, and what words for reasons mean that nobody knows. */
import type { ImportWishes } from '../../../../src/policy/suppressions/import-file.ts';
import {
  FIELDS,
  type Field as FieldName,
  PRESETS,
  plainName,
} from '../../../../src/policy/suppressions/import-presets.ts';
import { Options, SelectField } from '../../../components/field.tsx';
import { REASON_OPTIONS, type ReasonWord } from '../reasons.ts';
import type { ShownPlan } from './open-file.ts';

const NAMES: Readonly<Record<FieldName, string>> = {
  Email: 'Address',
  Reason: 'Reason',
  Note: 'Note',
  ExpiresAt: 'Ends at',
};
const MAX_WORDS = 12;

interface MappingProps {
  names: readonly string[];
  plan: ShownPlan;
  wishes: ImportWishes;
  onWishes(wishes: ImportWishes): void;
}

export function Mapping({ names, plan, wishes, onWishes }: MappingProps) {
  const { places, unknownReasons: words } = plan;
  const fixed = plan.preset === null ? undefined : PRESETS[plan.preset]?.reason;
  return (
    <div className="grid max-w-4xl gap-3">
      <div className="grid gap-3 min-[44rem]:grid-cols-2 min-[64rem]:grid-cols-4">
        {FIELDS.map((field) => (
          <SelectField
            key={field}
            label={NAMES[field]}
            value={places[field] ?? ''}
            error={field === 'Email' && places.Email === undefined ? 'Choose the column' : undefined}
            onChange={({ target: { value } }) =>
              onWishes({
                ...wishes,
                columns: { ...wishes.columns, [field]: value === '' ? null : Number(value) },
              })
            }
          >
            <option value="">not in the file</option>
            {names.map((name, place) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: a column is its place
              <option key={place} value={place}>
                {name === '' ? `column ${place + 1}` : name}
              </option>
            ))}
          </SelectField>
        ))}
        <SelectField
          label="Exported by"
          value={plan.preset ?? ''}
          hint={wishes.preset === undefined && plan.preset !== null ? 'Guessed from the columns' : undefined}
          onChange={({ target: { value } }) => onWishes({ ...wishes, preset: value === '' ? null : value })}
        >
          <option value="">nobody in particular</option>
          <Options of={Object.entries(PRESETS).map(([preset, { of }]) => [preset, of] as const)} />
        </SelectField>
        {fixed === undefined && (
          <ReasonField
            label="Reason if missing"
            value={wishes.reason}
            onReason={(reason) => onWishes({ ...wishes, reason })}
          />
        )}
      </div>
      {plan.guessedReason !== null && (
        <p className="text-warn">
          Every row gets the reason {plan.guessedReason}: this is what the file looks like.
        </p>
      )}
      {plan.unknownColumns.length > 0 && (
        <p className="text-soft">
          Not used: <bdi>{plan.unknownColumns.slice(0, MAX_WORDS).join(', ')}</bdi>
        </p>
      )}
      {words.length > 0 && (
        <fieldset className="grid gap-3 min-[44rem]:grid-cols-2 min-[64rem]:grid-cols-4">
          <legend className="mb-2">
            Words for a reason that are not known here. They are kept as notes; say what they mean:
          </legend>
          {words.map(([word, count]) => (
            <ReasonField
              key={word}
              label={`${word.slice(0, 60)} (${count.toLocaleString()})`}
              value={null}
              onReason={(reason) =>
                onWishes({ ...wishes, words: new Map(wishes.words).set(plainName(word), reason) })
              }
            />
          ))}
        </fieldset>
      )}
    </div>
  );
}

function ReasonField(props: { label: string; value: ReasonWord | null; onReason(reason: ReasonWord): void }) {
  return (
    <SelectField
      label={props.label}
      value={props.value ?? ''}
      onChange={({ target }) => props.onReason(target.value as ReasonWord)}
    >
      {props.value === null && <option value="">as above</option>}
      <Options of={REASON_OPTIONS} />
    </SelectField>
  );
}
