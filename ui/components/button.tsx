/** Buttons: with words, or with an icon whose words are its name and its tip. */
import type { ComponentProps, ReactNode } from 'react';

const SHAPES = {
  plain: 'border-line-strong bg-surface hover:bg-hover',
  main: 'border-transparent bg-accent-fill text-on-accent hover:opacity-90',
  quiet: 'border-transparent text-soft hover:bg-hover hover:text-ink',
  /** For what removes. */
  danger: 'border-bad bg-surface text-bad hover:bg-bad-fill',
} as const;

type ButtonProps = ComponentProps<'button'> & { look?: keyof typeof SHAPES };

export function Button({ look = 'plain', className = '', ...rest }: ButtonProps) {
  return (
    <button
      type="button"
      {...rest}
      className={`inline-flex min-h-8 items-center gap-1.5 rounded-md border print:hidden px-3 py-1 disabled:opacity-50 ${SHAPES[look]} ${className}`}
    />
  );
}

/** `label` says what it does; `keys` the key that does the same. */
export function IconButton({
  label,
  keys,
  children,
  tone = 'text-soft hover:bg-hover hover:text-ink',
  className = '',
  ...rest
}: Omit<ComponentProps<'button'>, 'aria-label' | 'title'> & {
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
      aria-label={label}
      {...(keys === undefined ? {} : { 'aria-keyshortcuts': keys })}
      title={keys === undefined ? label : `${label} (${keys})`}
      className={`inline-grid size-8 shrink-0 place-items-center rounded-md print:hidden disabled:opacity-40 ${tone} ${className}`}
    >
      {children}
    </button>
  );
}
