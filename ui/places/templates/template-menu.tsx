/** What else can be done with a template: rename, copy what a program needs, delete. */
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import type { Template } from '../../../src/client/api-types.ts';
import { fieldError } from '../../api/call.ts';
import { changeTemplate, removeTemplate, TEMPLATES, templateKey } from '../../api/templates.ts';
import { copyText } from '../../components/copy.tsx';
import { Dialog, DialogForm } from '../../components/dialog.tsx';
import { Field } from '../../components/field.tsx';
import { MoreMenu } from '../../components/menu.tsx';
import { useRemoval } from '../../components/use-removal.ts';
import { curlText } from './curl-text.ts';
import type { Variables } from './variables.ts';

export function TemplateMenu({
  template,
  sample,
  mayChange,
  onDelete,
}: {
  template: Template;
  sample: { variables: Variables };
  mayChange: boolean;
  /** What is not saved is given up with it. */
  onDelete(): void;
}) {
  const navigate = useNavigate();
  const remove = useRemoval<string>(TEMPLATES);
  const [renames, setRenames] = useState(false);
  return (
    <>
      <MoreMenu
        label="More"
        entries={[
          ...(mayChange ? [{ name: 'Rename…', run: () => setRenames(true) }] : []),
          {
            name: 'Copy as curl',
            run: () => copyText(curlText(template, sample.variables, location.origin), 'Command copied'),
          },
          { name: 'Copy the id', run: () => copyText(template.TemplateID, 'Id copied') },
          ...(mayChange
            ? [
                {
                  name: 'Delete',
                  isDangerous: true,
                  run() {
                    onDelete();
                    remove(template.TemplateID, 'The template is deleted', (leaving) =>
                      removeTemplate(template.TemplateID, leaving),
                    );
                    void navigate({ to: '/templates', ignoreBlocker: true });
                  },
                },
              ]
            : []),
        ]}
      />
      {renames && <RenameDialog template={template} onClose={() => setRenames(false)} />}
    </>
  );
}

function RenameDialog({ template, onClose }: { template: Template; onClose(): void }) {
  const queries = useQueryClient();
  const [name, setName] = useState(template.Name);
  const renaming = useMutation({
    mutationFn: () => changeTemplate(template.TemplateID, { Name: name.trim() }),
    onSuccess(changed) {
      queries.setQueryData(templateKey(template.TemplateID), changed);
      void queries.invalidateQueries({ queryKey: [...TEMPLATES, 'list'] });
      onClose();
    },
  });
  const refused = fieldError(renaming.error, '/Name');
  return (
    <Dialog title="Rename the template" onClose={onClose}>
      <DialogForm
        running={renaming}
        action="Rename"
        missing={name.trim() === '' ? 'It needs a name' : null}
        isErrorAtField={refused !== undefined}
        onSubmit={() => renaming.mutate()}
        onCancel={onClose}
      >
        <Field
          label="Name"
          hint="Programs that send it by its old name are refused from then on; its id stays."
          error={refused}
          required
          autoFocus
          autoComplete="off"
          spellCheck={false}
          maxLength={128}
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
      </DialogForm>
    </Dialog>
  );
}
