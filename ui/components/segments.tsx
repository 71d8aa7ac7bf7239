/** One of a few choices, side by side; and the views of a place that are chosen so. */
import { useNavigate, useSearch } from '@tanstack/react-router';
import { ToggleGroup } from 'radix-ui';
import type { ComponentType, ReactNode } from 'react';
import type { Me } from '../../src/client/api-types.ts';
import { mayDo } from '../api/me.ts';
import { Notice } from './notice.tsx';

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

/** Which view is shown stands in the address as `tab`; one that the person may not see is not offered. */
export function Views({
  me,
  from,
  views,
}: {
  me: Me;
  from: '/access' | '/system';
  views: readonly {
    value: string;
    name: string;
    /** What shows it: this scope, or this operation alone. */
    scope: string;
    operation?: string;
    View: ComponentType<{ me: Me }>;
  }[];
}) {
  const { tab } = useSearch({ from });
  const navigate = useNavigate({ from });
  const seen = views.filter(({ scope, operation }) => mayDo(me, scope, operation));
  const shown = views.find(({ value }) => value === tab) ?? seen[0];
  const isSeen = shown !== undefined && seen.includes(shown);
  return (
    <>
      {seen.length > (isSeen ? 1 : 0) && (
        <Segments
          label="What is shown"
          value={shown?.value ?? ''}
          onValue={(next) =>
            void navigate({ search: next === seen[0]?.value ? {} : { tab: next }, replace: true })
          }
          choices={seen}
        />
      )}
      {isSeen ? (
        <shown.View me={me} />
      ) : (
        <Notice title="You may not see this">
          Your rights do not include {shown === undefined ? 'anything here' : `“${shown.name}”`}. An operator
          can give them to you.
        </Notice>
      )}
    </>
  );
}
