/** Asks before what cannot be undone: the name of the thing has to be typed. */
import { useMutation } from '@tanstack/react-query';
import { type FormEvent, type ReactNode, useState } from 'react';
import { Button } from './button.tsx';
import { Dialog } from './dialog.tsx';
import { Field, FormError } from './field.tsx';

export function NameDialog({
  title,
  name,
  action,
  children,
  run,
  onDone,
  onClose,
}: {
  title: string;
  /** What has to be typed. */
  name: string;
  /** The word of the button. */
  action: string;
  /** What happens. */
  children: ReactNode;
  run(): Promise<unknown>;
  onDone(): void;
  onClose(): void;
}) {
  const [typed, setTyped] = useState('');
  const running = useMutation({ mutationFn: run, onSuccess: onDone });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    running.mutate();
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form onSubmit={submit} className="grid gap-3">
        <FormError error={running.error} />
        {children}
        <Field
          label={`Type ${name}`}
          autoComplete="off"
          spellCheck={false}
          value={typed}
          onChange={(event) => setTyped(event.target.value)}
        />
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button
            type="submit"
            disabled={typed.trim().toLowerCase() !== name.toLowerCase() || running.isPending}
            look="danger"
          >
            {action}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
