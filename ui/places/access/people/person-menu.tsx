/** What an operator can do with a person: change the rights, set a password, reset the second factor, end the sessions, disable, remove. */
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { Me, Person } from '../../../../src/client/api-types.ts';
import { changePerson, forgetIdentity } from '../../../api/access.ts';
import { MoreMenu } from '../../../components/menu.tsx';
import { toast, toastError } from '../../../components/toasts.tsx';
import { PEOPLE } from '../keys.ts';
import { PersonDialog, type PersonTask } from './person-dialogs.tsx';

export function PersonMenu({ me, person }: { me: Me; person: Person }) {
  const queries = useQueryClient();
  const [task, setTask] = useState<PersonTask | null>(null);
  const { PersonID, Email, DisabledAt } = person;
  const changing = useMutation({
    mutationFn: ({ change }: { change(id: string): Promise<Person>; said: string }) => change(PersonID),
    onSuccess: (_, { said }) => toast({ text: said }),
    onError: toastError,
    onSettled: () => void queries.invalidateQueries({ queryKey: PEOPLE }),
  });
  const isDisabled = DisabledAt !== null;
  return (
    <>
      <MoreMenu
        label={`Actions for ${Email}`}
        entries={[
          { name: 'Change role and domains…', run: () => setTask('rights') },
          { name: 'Set a new password…', run: () => setTask('password') },
          ...(person.SecondFactor
            ? [{ name: 'Reset the second factor…', run: () => setTask('second-factor') }]
            : []),
          ...(person.Identity === null
            ? []
            : [
                {
                  name: 'Forget the account of the identity provider',
                  run: () =>
                    changing.mutate({
                      change: forgetIdentity,
                      said: `The next account with the address ${Email} is taken for this person`,
                    }),
                },
              ]),
          isDisabled
            ? {
                name: 'Enable',
                run: () =>
                  changing.mutate({
                    change: (id) => changePerson(id, { Disabled: false }),
                    said: `${Email} can sign in again`,
                  }),
              }
            : {
                name: 'End all sessions',
                run: () =>
                  changing.mutate({
                    change: (id) => changePerson(id, {}),
                    said: `All sessions of ${Email} have ended`,
                  }),
              },
          ...(isDisabled ? [] : [{ name: 'Disable…', run: () => setTask('disable'), isDangerous: true }]),
          { name: 'Remove…', run: () => setTask('remove'), isDangerous: true },
        ]}
      />
      {task !== null && <PersonDialog me={me} person={person} task={task} onClose={() => setTask(null)} />}
    </>
  );
}
