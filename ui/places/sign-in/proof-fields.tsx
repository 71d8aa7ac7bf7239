/** The fields by which who is signed in proves it again: the password, and a code of the second factor. */
import type { ComponentProps } from 'react';
import { Field } from '../../components/field.tsx';

type Typed = Omit<ComponentProps<'input'>, 'onChange'> & { value: string; onValue(text: string): void };

export function CurrentPassword({ onValue, ...rest }: Typed) {
  return (
    <Field
      label="Current password"
      type="password"
      autoComplete="current-password"
      required
      onChange={({ target }) => onValue(target.value)}
      {...rest}
    />
  );
}

export function CodeField({
  onValue,
  hint = 'Of your authenticator app, or a recovery code',
  ...rest
}: Typed & { hint?: string }) {
  return (
    <Field
      label="Code"
      autoComplete="one-time-code"
      hint={hint}
      required
      onChange={({ target }) => onValue(target.value)}
      {...rest}
    />
  );
}
