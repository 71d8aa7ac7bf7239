/** Changing one's password; all other sessions end with it. */
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { changePassword } from '../../api/session.ts';
import { Dialog, DialogForm } from '../../components/dialog.tsx';
import { Field } from '../../components/field.tsx';
import { toast } from '../../components/toasts.tsx';
import { CurrentPassword } from './proof-fields.tsx';

export default function PasswordDialog({ onClose }: { onClose(): void }) {
  const [current, setCurrent] = useState('');
  const [next, setNext] = useState('');
  const changing = useMutation({
    mutationFn: () => changePassword(current, next),
    onSuccess: () => {
      toast({ text: 'The password is changed; your other sessions have ended' });
      onClose();
    },
  });
  return (
    <Dialog title="Change password" onClose={onClose}>
      <DialogForm running={changing} action="Change password" onSubmit={() => changing.mutate()}>
        <CurrentPassword value={current} onValue={setCurrent} />
        <Field
          label="New password"
          type="password"
          autoComplete="new-password"
          required
          minLength={12}
          hint="At least 12 characters"
          value={next}
          onChange={(event) => setNext(event.target.value)}
        />
      </DialogForm>
    </Dialog>
  );
}
