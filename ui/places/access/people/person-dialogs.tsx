/** The dialogs about a person: the rights, a new password, a lost second factor, disabling, removing. Each says what ends with it. */
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { Me, Person } from '../../../../src/client/api-types.ts';
import { changePerson, removePerson, resetSecondFactor, setPassword } from '../../../api/access.ts';
import { Dialog, DialogForm } from '../../../components/dialog.tsx';
import { CheckField } from '../../../components/field.tsx';
import { NameDialog } from '../../../components/name-dialog.tsx';
import { ShownOnce } from '../../../components/shown-once.tsx';
import { toast } from '../../../components/toasts.tsx';
import { isWhole, type Rights, RightsFields, rightsBody } from './rights-fields.tsx';
import { newPassword } from './roles.ts';

export type PersonTask = 'rights' | 'password' | 'second-factor' | 'disable' | 'remove';

interface Given {
  me: Me;
  person: Person;
  onClose(): void;
}

const DIALOGS = {
  rights: RightsDialog,
  password: PasswordDialog,
  'second-factor': SecondFactorDialog,
  disable: DisableDialog,
  remove: RemoveDialog,
} as const;

export function PersonDialog({ task, ...given }: Given & { task: PersonTask }) {
  const Shown = DIALOGS[task];
  return <Shown {...given} />;
}

function RightsDialog({ me, person, onClose }: Given) {
  const changed = useChanged();
  const [rights, setRights] = useState<Rights>({
    role: person.Role,
    domains: person.Role === 'operator' ? [] : person.Domains,
    preset: person.Preset ?? 'Default',
  });
  const [withMade, setWithMade] = useState(false);
  const changing = useMutation({
    mutationFn: () => changePerson(person.PersonID, rightsBody(rights), withMade),
    onSuccess() {
      toast({ text: `The rights of ${person.Email} are changed` });
      changed();
      onClose();
    },
  });
  return (
    <Dialog isWide title={`Rights of ${person.Email}`} onClose={onClose}>
      <DialogForm
        running={changing}
        action="Change"
        missing={isWhole(rights) ? null : 'Choose a domain first'}
        onSubmit={() => changing.mutate()}
        onCancel={onClose}
      >
        <RightsFields me={me} rights={rights} onRights={setRights} />
        <MadeField isEnded={withMade} onEnded={setWithMade} />
        <p className="text-soft">All sessions of the person end.</p>
      </DialogForm>
    </Dialog>
  );
}

function PasswordDialog({ person, onClose }: Given) {
  const [withMade, setWithMade] = useState(false);
  const changed = useChanged();
  const setting = useMutation({
    async mutationFn() {
      const password = newPassword();
      await setPassword(person.PersonID, password, withMade);
      return password;
    },
    onSuccess() {
      toast({ text: `${person.Email} has a new password` });
      changed();
    },
  });
  return (
    <Dialog title={`New password for ${person.Email}`} onClose={onClose}>
      {setting.data !== undefined ? (
        <ShownOnce what="password" text={setting.data} onClose={onClose} />
      ) : (
        <DialogForm
          running={setting}
          action="Make a new password"
          onSubmit={() => setting.mutate()}
          onCancel={onClose}
        >
          <p>A password is made and shown once. The old one ends, and all sessions of the person.</p>
          <MadeField isEnded={withMade} onEnded={setWithMade} />
        </DialogForm>
      )}
    </Dialog>
  );
}

function SecondFactorDialog({ person, onClose }: Given) {
  const changed = useChanged();
  return (
    <NameDialog
      title={`Reset the second factor of ${person.Email}`}
      action="Reset"
      name={person.Email}
      run={() => resetSecondFactor(person.PersonID)}
      said={`${person.Email} signs in with the password alone`}
      onDone={changed}
      onClose={onClose}
    >
      <p>For a person who lost the app and the recovery codes. All sessions of the person end.</p>
    </NameDialog>
  );
}

function DisableDialog({ person, onClose }: Given) {
  const changed = useChanged();
  return (
    <NameDialog
      title={`Disable ${person.Email}`}
      action="Disable"
      name={person.Email}
      run={() => changePerson(person.PersonID, { Disabled: true })}
      said={`${person.Email} cannot sign in any more`}
      onDone={changed}
      onClose={onClose}
    >
      <p>
        All sessions end, and so do the tokens, SMTP credentials and webhooks that the person made. They do
        not come back when the person is enabled again.
      </p>
    </NameDialog>
  );
}

function RemoveDialog({ person, onClose }: Given) {
  const changed = useChanged();
  const [withMade, setWithMade] = useState(false);
  return (
    <NameDialog
      title={`Remove ${person.Email}`}
      action="Remove"
      name={person.Email}
      run={() => removePerson(person.PersonID, withMade)}
      said={`${person.Email} is removed`}
      onDone={changed}
      onClose={onClose}
    >
      <p>The person cannot sign in any more, and all sessions end. This cannot be undone.</p>
      <MadeField isEnded={withMade} onEnded={setWithMade} />
    </NameDialog>
  );
}

function MadeField({ isEnded, onEnded }: { isEnded: boolean; onEnded(isEnded: boolean): void }) {
  return (
    <CheckField
      label="Also end what the person made"
      hint="Tokens, SMTP credentials and webhooks; otherwise they go on working"
      checked={isEnded}
      onChange={({ target }) => onEnded(target.checked)}
    />
  );
}

/** Reads everything of Access again. */
function useChanged(): () => void {
  const queries = useQueryClient();
  return () => void queries.invalidateQueries({ queryKey: ['access'] });
}
