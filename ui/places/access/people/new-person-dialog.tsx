/** Adds a person: the address, the role, the domains; then shows the password that was made, this once. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { Me } from '../../../../src/client/api-types.ts';
import { addPerson } from '../../../api/access.ts';
import { fieldError } from '../../../api/call.ts';
import { PROVIDER } from '../../../api/session.ts';
import { Button } from '../../../components/button.tsx';
import { Dialog, DialogForm } from '../../../components/dialog.tsx';
import { CheckField, Field } from '../../../components/field.tsx';
import { ShownOnce } from '../../../components/shown-once.tsx';
import { PEOPLE } from '../keys.ts';
import { isWhole, type Rights, RightsFields, rightsBody } from './rights-fields.tsx';
import { newPassword } from './roles.ts';

export function NewPersonDialog({ me, onClose }: { me: Me; onClose(): void }) {
  const queries = useQueryClient();
  const [email, setEmail] = useState('');
  const [rights, setRights] = useState<Rights>({ role: 'member', domains: [], preset: 'Default' });
  const provider = useQuery(PROVIDER).data?.Name ?? null;
  const [needsPassword, setNeedsPassword] = useState(true);
  // Made once: whoever presses the button again asks for the same person.
  const [made] = useState(newPassword);
  const adding = useMutation({
    async mutationFn() {
      const password = needsPassword ? made : null;
      const person = await addPerson({
        Email: email,
        ...(password === null ? {} : { Password: password }),
        ...rightsBody(rights),
      });
      return { person, password };
    },
    onSuccess: () => void queries.invalidateQueries({ queryKey: PEOPLE }),
  });
  if (adding.data !== undefined)
    return (
      <Dialog title={`${adding.data.person.Email} can sign in`} onClose={onClose}>
        {adding.data.password === null ? (
          <div className="grid gap-4">
            <p>
              With {provider}, at <span className="font-mono text-xs">{location.origin}</span>.
            </p>
            <Button look="main" className="justify-self-end" onClick={onClose}>
              Done
            </Button>
          </div>
        ) : (
          <ShownOnce what="password" text={adding.data.password} onClose={onClose}>
            <p>
              Give it to the person with the address of this page,{' '}
              <span className="font-mono text-xs">{location.origin}</span>. It can be changed after signing
              in.
            </p>
          </ShownOnce>
        )}
      </Dialog>
    );
  const refused = fieldError(adding.error, '/Email');
  return (
    <Dialog isWide title="Add a person" onClose={onClose}>
      <DialogForm
        running={adding}
        action="Add"
        isErrorAtField={refused !== undefined}
        missing={isWhole(rights) ? null : 'Choose a domain first'}
        onSubmit={() => adding.mutate()}
        onCancel={onClose}
      >
        <Field
          label="Email address"
          type="email"
          required
          autoComplete="off"
          value={email}
          onChange={({ target }) => setEmail(target.value)}
          error={refused}
          hint="To sign in with; nothing is mailed to it"
        />
        {provider !== null && (
          <CheckField
            label="Make a password, too"
            hint={`Without one, the person signs in with ${provider} only`}
            checked={needsPassword}
            onChange={({ target }) => setNeedsPassword(target.checked)}
          />
        )}
        <RightsFields me={me} rights={rights} onRights={setRights} />
      </DialogForm>
    </Dialog>
  );
}
