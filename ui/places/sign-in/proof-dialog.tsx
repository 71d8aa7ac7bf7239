/**
 * Asks who is signed in for the password again, and the code where there is a second factor; who has no password goes to the
 * identity provider. What was asked for goes on afterwards, except from the provider, which takes the page's place.
 */
import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { proveSession, SESSION } from '../../api/session.ts';
import { Dialog, DialogForm } from '../../components/dialog.tsx';
import { ByProvider } from './by-provider.tsx';
import { CodeField, CurrentPassword } from './proof-fields.tsx';

export default function ProofDialog({ onDone }: { onDone(isProven: boolean): void }) {
  const person = useQuery(SESSION).data?.Person;
  return (
    <Dialog title="Prove that it is you" onClose={() => onDone(false)}>
      {person?.HasPassword === false ? (
        <div className="grid gap-4">
          <p>
            This makes something that stays after your session ends. Sign in again, and then do it once more:
            what you have typed is not kept.
          </p>
          <ByProvider again onSession={() => onDone(true)} />
        </div>
      ) : (
        <Password withCode={person?.SecondFactor === true} onProven={() => onDone(true)} />
      )}
    </Dialog>
  );
}

function Password({ withCode, onProven }: { withCode: boolean; onProven(): void }) {
  const [password, setPassword] = useState('');
  const [code, setCode] = useState('');
  const proving = useMutation({
    mutationFn: () => proveSession(password, withCode ? code : undefined),
    onSuccess: onProven,
    onError: () => setCode(''),
  });
  return (
    <DialogForm running={proving} action="Go on" onSubmit={() => proving.mutate()}>
      <p>
        This makes something that stays after your session ends, and you signed in more than ten minutes ago.
      </p>
      <CurrentPassword
        // The browser's own attribute: a dialog gives the focus to it when it is shown.
        ref={(input) => input?.setAttribute('autofocus', '')}
        value={password}
        onValue={setPassword}
      />
      {withCode && <CodeField value={code} onValue={setCode} />}
    </DialogForm>
  );
}
