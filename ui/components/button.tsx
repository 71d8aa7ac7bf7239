/** Buttons: with words, or with an icon whose words are its name and its tip. */
import type { ComponentProps, MouseEvent, ReactNode } from 'react';

const SHAPES = {
  plain: 'border-line-strong bg-surface hover:bg-hover',
  main: 'border-transparent bg-accent-fill text-on-accent hover:opacity-90',
  quiet: 'border-transparent text-soft hover:bg-hover hover:text-ink',
  /** For what removes. */
  danger: 'border-bad bg-surface text-bad hover:bg-bad-fill',
} as const;

interface Working {
  /** What it did last is not done yet, or needs nothing more: it does nothing, but keeps the focus, which `disabled` would take away. */
  isBusy?: boolean;
}

type ButtonProps = ComponentProps<'button'> & Working & { look?: keyof typeof SHAPES };

export function Button({ look = 'plain', className = '', isBusy = false, onClick, ...rest }: ButtonProps) {
  return (
    <button
      type="button"
      {...rest}
      {...(isBusy ? BUSY : { onClick: pressed(onClick) })}
      className={`inline-flex min-h-8 items-center gap-1.5 rounded-md border print:hidden px-3 py-1 disabled:opacity-50 aria-disabled:opacity-50 ${SHAPES[look]} ${className}`}
    />
  );
}

/** `ref` of what stands in place of a button that is gone: it gets the focus that went with it. With `tabIndex={-1}`. What is in sight stays there. */
export function takeLostFocus(element: HTMLElement | null): void {
  if (document.activeElement === document.body) element?.focus({ preventScroll: true });
}

/** A form is not submitted either. */
const BUSY = { 'aria-disabled': true, onClick: (event: MouseEvent) => event.preventDefault() };

/** Ignores the second click of a double click: if the first removed a row, the second would hit the button of the next row. */
function pressed(onClick: ComponentProps<'button'>['onClick']) {
  return (event: MouseEvent<HTMLButtonElement>): void => {
    if (event.detail === 2) event.preventDefault();
    else onClick?.(event);
  };
}

/** `label` says what it does; `keys` the key that does the same. */
export function IconButton({
  label,
  keys,
  children,
  tone = 'text-soft hover:bg-hover hover:text-ink',
  className = '',
  isBusy = false,
  onClick,
  ...rest
}: Omit<ComponentProps<'button'>, 'aria-label' | 'title'> &
  Working & {
    label: string;
    keys?: string;
    children: ReactNode;
    /** Classes of its colours. */
    tone?: string;
  }) {
  return (
    <button
      type="button"
      {...rest}
      {...(isBusy ? BUSY : { onClick: pressed(onClick) })}
      aria-label={label}
      {...(keys === undefined ? {} : { 'aria-keyshortcuts': keys })}
      title={keys === undefined ? label : `${label} (${keys})`}
      className={`inline-grid size-8 shrink-0 place-items-center rounded-md print:hidden disabled:opacity-40 aria-disabled:opacity-40 ${tone} ${className}`}
    >
      {children}
    </button>
  );
}
