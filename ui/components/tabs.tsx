/**
 * Views of one thing beside each other; arrow keys go between them. Where they have no room they scroll. What they stand in
 * scrolls too, where it is so low that the views would not be seen: on a phone on its side, in an enlarged page.
 */
import { Tabs as Radix } from 'radix-ui';
import type { ReactNode } from 'react';

export interface Tab {
  value: string;
  name: string;
  /** A number beside the name; left out where it is 0. */
  count?: number;
  view(): ReactNode;
}

export function Tabs({
  label,
  value,
  onValue,
  tabs,
}: {
  label: string;
  value: string;
  onValue(value: string): void;
  tabs: readonly Tab[];
}) {
  return (
    <Radix.Root
      value={value}
      onValueChange={onValue}
      activationMode="manual"
      className="flex min-h-80 flex-1 flex-col"
    >
      <Radix.List
        aria-label={label}
        className="flex shrink-0 gap-px overflow-x-auto border-line border-b px-2.5 [scrollbar-width:none] print:hidden"
      >
        {tabs.map((tab) => (
          <Radix.Trigger
            key={tab.value}
            value={tab.value}
            className="-mb-px min-h-9 shrink-0 border-transparent border-b-2 px-1.5 text-soft -outline-offset-2 hover:text-ink data-[state=active]:border-accent data-[state=active]:text-ink"
          >
            {tab.name}{' '}
            {tab.count !== undefined && tab.count > 0 && (
              <span className="ml-0.5 rounded-full bg-hover px-1.5 text-xs tabular-nums">{tab.count}</span>
            )}
          </Radix.Trigger>
        ))}
      </Radix.List>
      {tabs.map((tab) => (
        <Radix.Content
          key={tab.value}
          value={tab.value}
          className="flex min-h-0 flex-1 flex-col overflow-y-auto data-[state=inactive]:hidden"
        >
          {tab.value === value && tab.view()}
        </Radix.Content>
      ))}
    </Radix.Root>
  );
}
