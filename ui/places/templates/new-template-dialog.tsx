/** Makes a template with a text to begin from, and leads to its editor. */
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { fieldError } from '../../api/call.ts';
import { createTemplate, TEMPLATES, templateKey } from '../../api/templates.ts';
import { Dialog, DialogForm } from '../../components/dialog.tsx';
import { Field } from '../../components/field.tsx';
import { SenderDomain, useFirstDomain } from '../../components/sender-domain.tsx';

const BEGINNING = {
  Subject: 'Hello {{name | default: "there"}}',
  HTMLContent: `<h1>Hello {{name | default: "there"}}</h1>
<p>Write your mail here. A name in double braces is a variable.</p>
{{#items}}
<p>{{name}}: {{price}}</p>
{{/items}}
`,
};

export function NewTemplateDialog({ onClose }: { onClose(): void }) {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const first = useFirstDomain();
  const [name, setName] = useState('');
  const [chosen, setChosen] = useState<string | null>(null);
  const domain = chosen ?? first;
  const making = useMutation({
    mutationFn: () => createTemplate({ Name: name.trim(), Domain: domain.trim(), ...BEGINNING }),
    onSuccess(template) {
      queries.setQueryData(templateKey(template.TemplateID), template);
      void queries.invalidateQueries({ queryKey: [...TEMPLATES, 'list'] });
      onClose();
      void navigate({ to: '/templates/$id', params: { id: template.TemplateID } });
    },
  });
  const refusedName = fieldError(making.error, '/Name');
  const refusedDomain = fieldError(making.error, '/Domain');
  return (
    <Dialog title="New template" onClose={onClose}>
      <DialogForm
        running={making}
        action="Create"
        isErrorAtField={refusedName !== undefined || refusedDomain !== undefined}
        onSubmit={() => making.mutate()}
        onCancel={onClose}
      >
        <Field
          label="Name"
          hint="By which your programs can send it, for example order-confirmation."
          error={refusedName}
          required
          autoFocus
          autoComplete="off"
          spellCheck={false}
          maxLength={128}
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
        <SenderDomain
          value={domain}
          hint="Mail from this domain and its sub-domains can be made of it."
          onValue={setChosen}
          error={refusedDomain}
        />
      </DialogForm>
    </Dialog>
  );
}
