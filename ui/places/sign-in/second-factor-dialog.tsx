/** Switching one's second factor on, with a secret for an authenticator app, or off. Recovery codes are shown once. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { makeTotpSecret, SESSION, signOut, switchOffTotp, switchOnTotp } from '../../api/session.ts';
import { Button } from '../../components/button.tsx';
import { CodeBlock } from '../../components/copy.tsx';
import { Dialog, DialogForm } from '../../components/dialog.tsx';
import { FormError } from '../../components/field.tsx';
import { QrCode } from '../../components/qr-code.tsx';
import { toast } from '../../components/toasts.tsx';
import { CodeField, CurrentPassword } from './proof-fields.tsx';

export default function SecondFactorDialog({ onClose }: { onClose(): void }) {
  const queries = useQueryClient();
  const isOn = useQuery(SESSION).data?.Person?.SecondFactor === true;
  const [recoveryCodes, setRecoveryCodes] = useState<readonly string[] | null>(null);
  const changed = (): void => void queries.invalidateQueries({ queryKey: SESSION.queryKey });
  return (
    <Dialog title="Second factor" onClose={onClose}>
      {recoveryCodes !== null ? (
        <RecoveryCodes codes={recoveryCodes} onKept={onClose} />
      ) : isOn ? (
        <SwitchOff
          onDone={() => {
            changed();
            toast({ text: 'The second factor is off; your other sessions have ended' });
            onClose();
          }}
        />
      ) : (
        <SwitchOn
          onDone={(codes) => {
            setRecoveryCodes(codes);
            changed();
          }}
        />
      )}
    </Dialog>
  );
}

/** In place of everything else, for who has to have a second factor and has none yet. */
export function SetUpPage() {
  const queries = useQueryClient();
  const [recoveryCodes, setRecoveryCodes] = useState<readonly string[] | null>(null);
  const leaving = useMutation({
    mutationFn: signOut,
    onSettled: () => queries.resetQueries({ queryKey: SESSION.queryKey }),
  });
  return (
    <main className="grid h-full place-content-center overflow-y-auto p-4">
      <div className="grid w-96 max-w-full gap-4">
        <h1 className="font-semibold text-lg">Set up the second factor</h1>
        {recoveryCodes === null ? (
          <>
            <p>This server requires one of everybody who signs in with a password.</p>
            <SwitchOn onDone={setRecoveryCodes} />
            <Button
              isBusy={leaving.isPending}
              onClick={() => leaving.mutate()}
              className="justify-self-start"
            >
              Sign out
            </Button>
          </>
        ) : (
          <RecoveryCodes
            codes={recoveryCodes}
            onKept={() => void queries.resetQueries({ queryKey: SESSION.queryKey })}
          />
        )}
      </div>
    </main>
  );
}

function RecoveryCodes({ codes, onKept }: { codes: readonly string[]; onKept(): void }) {
  return (
    <div data-shown-once className="grid gap-4">
      <p>
        The second factor is on, and your other sessions have ended. Keep these recovery codes: each signs you
        in once when you have lost the app. They are not shown again.
      </p>
      <CodeBlock text={codes.join('\n')} label="Copy the recovery codes" />
      <Button look="main" className="justify-self-end" onClick={onKept}>
        I have kept them
      </Button>
    </div>
  );
}

function SwitchOn({ onDone }: { onDone(recoveryCodes: readonly string[]): void }) {
  const made = useQuery({
    queryKey: ['totp-secret'],
    queryFn: makeTotpSecret,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  });
  const [password, setPassword] = useState('');
  const [code, setCode] = useState('');
  const switching = useMutation({
    mutationFn: (secret: string) => switchOnTotp({ Password: password, Secret: secret, Code: code }),
    onSuccess: ({ RecoveryCodes }) => onDone(RecoveryCodes),
    onError: () => setCode(''),
  });
  if (made.data === undefined) return <FormError error={made.error} />;
  const { Secret, URI } = made.data;
  return (
    <DialogForm running={switching} action="Switch on" onSubmit={() => switching.mutate(Secret)}>
      <p>
        Signing in then asks for a code of an authenticator app, after the password. Read this code with the
        app,{' '}
        <a href={URI} className="text-accent underline">
          open it in an app on this device
        </a>
        , or enter the secret.
      </p>
      <QrCode text={URI} label="QR code of the secret" />
      <CodeBlock text={Secret.replaceAll(/(.{4})(?=.)/g, '$1 ')} label="Copy the secret" />
      <CurrentPassword value={password} onValue={setPassword} />
      <CodeField value={code} onValue={setCode} hint="What the app shows now" />
    </DialogForm>
  );
}

function SwitchOff({ onDone }: { onDone(): void }) {
  const [password, setPassword] = useState('');
  const [code, setCode] = useState('');
  const switching = useMutation({
    mutationFn: () => switchOffTotp({ Password: password, Code: code }),
    onSuccess: onDone,
    onError: () => setCode(''),
  });
  return (
    <DialogForm running={switching} action="Switch off" look="plain" onSubmit={() => switching.mutate()}>
      <p>The second factor is on: signing in asks for a code. For another app, switch it off and on again.</p>
      <CurrentPassword value={password} onValue={setPassword} />
      <CodeField value={code} onValue={setCode} />
    </DialogForm>
  );
}
