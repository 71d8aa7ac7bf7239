/** Puts addresses on the list by hand. */
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { ApiError, fieldError } from '../../api/call.ts';
import { addSuppressions, SUPPRESSIONS } from '../../api/suppressions.ts';
import { Dialog, DialogForm } from '../../components/dialog.tsx';
import { Field, Options, SelectField, TextField } from '../../components/field.tsx';
import { SenderDomain, useFirstDomain } from '../../components/sender-domain.tsx';
import { toast } from '../../components/toasts.tsx';
import { addedText } from './added-text.ts';
import { REASON_OPTIONS, WHOSE_LIST } from './reasons.ts';

export function AddDialog({ onClose }: { onClose(): void }) {
  const queries = useQueryClient();
  const first = useFirstDomain();
  const [chosen, setDomain] = useState<string | null>(null);
  const domain = chosen ?? first;
  const [text, setText] = useState('');
  const [reason, setReason] = useState('Manual');
  const [note, setNote] = useState('');
  const addresses = text.split(/[\s,;]+/).filter((one) => one !== '');
  const adding = useMutation({
    mutationFn: () =>
      addSuppressions(
        domain,
        addresses.map((Email) => ({ Email, Reason: reason, ...(note === '' ? {} : { Note: note }) })),
      ),
    onSuccess: (done) => {
      toast({ text: addedText(done) });
      void queries.invalidateQueries({ queryKey: SUPPRESSIONS });
      onClose();
    },
  });
  const refusedDomain = fieldError(adding.error, '/Domain');
  const refused = refusedOf(adding.error, addresses);
  return (
    <Dialog title="Stop sending to addresses" onClose={onClose}>
      <DialogForm
        running={adding}
        action="Add"
        isErrorAtField={refused !== undefined || refusedDomain !== undefined}
        onSubmit={() => adding.mutate()}
        onCancel={onClose}
      >
        <SenderDomain value={domain} hint={WHOSE_LIST} onValue={setDomain} error={refusedDomain} />
        <TextField
          label="Addresses"
          hint="One, or several with blanks or lines between them; at most 1,000."
          error={refused}
          required
          rows={3}
          autoFocus
          spellCheck={false}
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        <SelectField label="Reason" value={reason} onChange={(event) => setReason(event.target.value)}>
          <Options of={REASON_OPTIONS} />
        </SelectField>
        <Field
          label="Note"
          hint="For people who look later; may be empty."
          maxLength={256}
          value={note}
          onChange={(event) => setNote(event.target.value)}
        />
      </DialogForm>
    </Dialog>
  );
}

/** The first address that was refused, and why. */
function refusedOf(error: Error | null, addresses: readonly string[]): string | undefined {
  if (!(error instanceof ApiError)) return undefined;
  for (const [pointer, message] of error.fields) {
    const place = /^\/Items\/(\d+)/.exec(pointer)?.[1];
    if (place !== undefined) return `${addresses[Number(place)] ?? ''}: ${message}`;
    if (pointer === '/Items') return message;
  }
  return undefined;
}
