/** What a token may do: one card a preset, each with what it may and what it may not. */
import { useId } from 'react';
import { capital } from '../../../../src/lib/capital.ts';
import type { PresetName, PresetWords } from '../rights-words.ts';

export function PresetCards({
  presets,
  chosen,
  onChosen,
}: {
  presets: readonly PresetWords[];
  chosen: PresetName;
  onChosen(name: PresetName): void;
}) {
  const group = useId();
  return (
    <fieldset className="grid gap-2">
      <legend className="mb-1 font-semibold">Rights</legend>
      <div className="grid gap-2 min-[36rem]:grid-cols-2">
        {presets.map(({ name, use, may, mayNot }) => (
          <label
            key={name}
            className="grid cursor-pointer content-start gap-1 rounded-md border border-line-strong p-3 has-checked:border-accent has-checked:bg-chosen has-focus-visible:outline-2 has-focus-visible:outline-accent"
          >
            <span className="flex items-center gap-2 font-semibold">
              <input
                type="radio"
                name={group}
                aria-label={name}
                checked={chosen === name}
                onChange={() => onChosen(name)}
                className="accent-accent-fill"
              />
              {name}
            </span>
            <span className="text-soft text-xs">{use}</span>
            <span>May {may}.</span>
            <span className="text-soft">
              {name === 'Admin' ? `${capital(mayNot)}.` : `May not ${mayNot}.`}
            </span>
          </label>
        ))}
      </div>
    </fieldset>
  );
}
