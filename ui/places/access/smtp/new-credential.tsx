/** A new SMTP login, shown this once, with the settings of a program to copy. */
import { useState } from 'react';
import type { Me, NewSmtpCredentialAnswer } from '../../../../src/client/api-types.ts';
import { Button } from '../../../components/button.tsx';
import { CodeBlock, CopyButton } from '../../../components/copy.tsx';
import { Options, SelectField } from '../../../components/field.tsx';
import { clientSettings, securityText } from './client-settings.ts';

export function NewCredential({
  made,
  me,
  onClose,
}: {
  made: NewSmtpCredentialAnswer;
  me: Me;
  onClose(): void;
}) {
  const [shown, setShown] = useState('nodemailer');
  const [at, setAt] = useState(0);
  const port = me.Submission[at];
  const login = { username: made.Username, password: made.Password, domain: made.Domain };
  const clients = port === undefined ? [] : clientSettings(port, login);
  const client = clients.find(({ value }) => value === shown);
  const facts = [
    ...(port === undefined
      ? []
      : ([
          ['Server', port.Host],
          ['Port', String(port.Port)],
        ] as const)),
    ['User name', made.Username],
    ['Password', made.Password],
  ] as const;
  return (
    <div data-shown-once className="grid gap-4">
      <p>Copy the password now: it is not shown again.</p>
      <dl className="grid">
        {facts.map(([name, value]) => (
          <div key={name} className="flex items-center gap-3 border-line border-b">
            <dt className="w-24 shrink-0 text-soft">{name}</dt>
            <dd className="min-w-0 flex-1 font-mono text-xs">{value}</dd>
            <CopyButton text={value} label={`Copy the ${name.toLowerCase()}`} />
          </div>
        ))}
        {port !== undefined && (
          <div className="flex min-h-8 items-center gap-3">
            <dt className="w-24 shrink-0 text-soft">Encryption</dt>
            <dd>{securityText(port)}</dd>
          </div>
        )}
      </dl>
      {me.Submission.length > 1 && (
        <SelectField label="Port" value={String(at)} onChange={({ target }) => setAt(Number(target.value))}>
          <Options
            of={me.Submission.map(
              (one, place) => [String(place), `${one.Port}, ${securityText(one)}`] as const,
            )}
          />
        </SelectField>
      )}
      {client === undefined ? (
        <p className="text-warn">
          This server takes no mail by SMTP yet: an operator sets{' '}
          <code className="font-mono text-xs">submission</code> or{' '}
          <code className="font-mono text-xs">submission-tls</code>.
        </p>
      ) : (
        <div className="grid gap-2">
          <SelectField
            label="Settings for"
            hint={client.where}
            value={shown}
            onChange={({ target }) => setShown(target.value)}
          >
            <Options of={clients.map(({ value, name }) => [value, name] as const)} />
          </SelectField>
          <CodeBlock text={client.text} label={`Copy the settings for ${client.name}`} />
        </div>
      )}
      <Button look="main" className="justify-self-end" onClick={onClose}>
        I have copied it
      </Button>
    </div>
  );
}
