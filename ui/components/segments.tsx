/** One of a few choices, side by side. */
import { ToggleGroup } from 'radix-ui';
import type { ReactNode } from 'react';

export function Segments<Value extends string>(props: {
  label: string;
  value: Value;
  onValue(value: Value): void;
  choices: readonly { value: Value; name: string; icon?: ReactNode }[];
}) {
  return (
    <ToggleGroup.Root
      type="single"
      aria-label={props.label}
      value={props.value}
      onValueChange={(value) => value !== '' && props.onValue(value as Value)}
      className="inline-flex max-w-full justify-self-start overflow-x-auto rounded-md border border-line-strong p-px"
    >
      {props.choices.map(({ value, name, icon }) => (
        <ToggleGroup.Item
          key={value}
          value={value}
          title={name}
          aria-label={name}
          className="inline-flex min-h-7 min-w-8 items-center justify-center whitespace-nowrap rounded px-1.5 text-soft text-xs min-[44rem]:px-2 hover:text-ink data-[state=on]:bg-chosen data-[state=on]:text-ink"
        >
          {icon ?? name}
        </ToggleGroup.Item>
      ))}
    </ToggleGroup.Root>
  );
}
