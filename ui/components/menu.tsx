/** A menu behind a button; Radix knows its keys. */
import { EllipsisVertical, type LucideIcon } from 'lucide-react';
import { DropdownMenu } from 'radix-ui';
import { type ReactNode, useRef } from 'react';
import { IconButton } from './button.tsx';

export interface MenuEntry {
  /** Before the name. */
  icon?: LucideIcon;
  name: ReactNode;
  /** Its words, where `name` is more than words. */
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
  const chosen = useRef<(() => void) | null>(null);
  return (
    <DropdownMenu.Root modal={false}>
      <DropdownMenu.Trigger asChild>{trigger}</DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content
          align={align}
          sideOffset={4}
          collisionPadding={8}
          // Done once its button has the focus again, to which a dialog then gives it back.
          onCloseAutoFocus={() => {
            if (chosen.current !== null) queueMicrotask(chosen.current);
            chosen.current = null;
          }}
          className="z-30 max-h-(--radix-dropdown-menu-content-available-height) min-w-44 max-w-80 overflow-y-auto rounded-lg border border-line-strong bg-raised p-1"
        >
          {entries.map(({ icon: Icon, name, label, run, isDangerous, isCurrent, disabled }) => (
            <DropdownMenu.Item
              key={label ?? String(name)}
              disabled={disabled ?? false}
              onSelect={() => {
                chosen.current = run;
              }}
              aria-current={isCurrent === true ? 'true' : undefined}
              className={`flex min-h-8 cursor-pointer items-center gap-2 rounded-md px-2 outline-none data-disabled:cursor-default data-highlighted:bg-hover data-disabled:opacity-50 ${isDangerous === true ? 'text-bad' : ''} ${isCurrent === true ? 'font-semibold' : ''}`}
            >
              {Icon !== undefined && <Icon size={16} aria-hidden className="shrink-0" />}
              {name}
            </DropdownMenu.Item>
          ))}
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  );
}

/** What else can be done: a menu behind three dots. `label`: with what. */
export function MoreMenu({ label, entries }: { label: string; entries: readonly MenuEntry[] }) {
  return (
    <Menu
      trigger={
        <IconButton label={label}>
          <EllipsisVertical size={16} aria-hidden />
        </IconButton>
      }
      entries={entries}
    />
  );
}
