/** A menu behind a button; Radix knows its keys. */
import { DropdownMenu } from 'radix-ui';
import type { ReactNode } from 'react';

export interface MenuEntry {
  name: ReactNode;
  /** What is said to screen readers and in tests where `name` is more than words. */
  label?: string;
  run(): void;
  isDangerous?: boolean;
  isCurrent?: boolean;
  disabled?: boolean;
}

/** `trigger`: one button. */
export function Menu({
  trigger,
  entries,
  align = 'end',
}: {
  trigger: ReactNode;
  entries: readonly MenuEntry[];
  align?: 'start' | 'end';
}) {
  return (
    <DropdownMenu.Root modal={false}>
      <DropdownMenu.Trigger asChild>{trigger}</DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content
          align={align}
          sideOffset={4}
          collisionPadding={8}
          className="z-30 max-h-(--radix-dropdown-menu-content-available-height) min-w-44 max-w-80 overflow-y-auto rounded-lg border border-line-strong bg-raised p-1"
        >
          {entries.map(({ name, label, run, isDangerous, isCurrent, disabled }) => (
            <DropdownMenu.Item
              key={label ?? String(name)}
              disabled={disabled ?? false}
              onSelect={run}
              aria-current={isCurrent === true ? 'true' : undefined}
              className={`flex min-h-8 cursor-pointer items-center gap-2 rounded-md px-2 outline-none data-disabled:cursor-default data-highlighted:bg-hover data-disabled:opacity-50 ${isDangerous === true ? 'text-bad' : ''} ${isCurrent === true ? 'font-semibold' : ''}`}
            >
              {name}
            </DropdownMenu.Item>
          ))}
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  );
}
