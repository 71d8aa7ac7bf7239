/** For which events a webhook is called: all, or some, each with what it means. */
import { CheckField } from '../../components/field.tsx';
import { EVENT_GROUPS } from './event-words.ts';

export function EventFields({
  value,
  onValue,
}: {
  value: readonly string[];
  onValue(value: readonly string[]): void;
}) {
  const isAll = value.includes('all');
  return (
    <fieldset className="grid gap-3">
      <legend className="mb-1 font-semibold">Called for</legend>
      <CheckField
        label="All events"
        hint="Also kinds that are added later."
        checked={isAll}
        onChange={({ target }) => onValue(target.checked ? ['all'] : ['delivery', 'bounce', 'complaint'])}
      />
      {!isAll &&
        EVENT_GROUPS.map(({ name, events }) => (
          <fieldset key={name} className="grid gap-x-4 gap-y-1.5 min-[36rem]:grid-cols-2">
            <legend className="mb-1 text-soft">{name}</legend>
            {events.map((event) => (
              <CheckField
                key={event.token}
                label={event.name}
                hint={event.meaning}
                checked={value.includes(event.token)}
                onChange={({ target }) =>
                  onValue(
                    target.checked ? [...value, event.token] : value.filter((one) => one !== event.token),
                  )
                }
              />
            ))}
          </fieldset>
        ))}
    </fieldset>
  );
}
