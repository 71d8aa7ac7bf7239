/** One line of a form: its name above what is typed. */
import { type ComponentProps, useId } from 'react';

export function Field({ label, hint, ...rest }: ComponentProps<'input'> & { label: string; hint?: string }) {
  const id = useId();
  return (
    <div className="grid gap-1">
      <label htmlFor={id} className="font-semibold">
        {label}
      </label>
      <input
        {...rest}
        id={id}
        {...(hint === undefined ? {} : { 'aria-describedby': `${id}-hint` })}
        className="min-h-9 w-full rounded-md border border-line-strong bg-surface px-3"
      />
      {hint !== undefined && (
        <p id={`${id}-hint`} className="text-soft text-xs">
          {hint}
        </p>
      )}
    </div>
  );
}

/** What was refused, said to screen readers when it appears. */
export function FormError({ error }: { error: Error | null }) {
  if (error === null) return null;
  return (
    <p role="alert" className="rounded-md bg-bad-fill px-3 py-2 text-bad">
      {error.message}
    </p>
  );
}
