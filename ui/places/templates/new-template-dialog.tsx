/** Makes a template with a text to begin from, and leads to its editor. */
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { fieldError } from '../../api/call.ts';
import { createTemplate, TEMPLATES, templateKey } from '../../api/templates.ts';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Field, FormError } from '../../components/field.tsx';
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
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    making.mutate();
  };
  const refusedName = fieldError(making.error, '/Name');
  const refusedDomain = fieldError(making.error, '/Domain');
  return (
    <Dialog title="New template" onClose={onClose}>
      <form onSubmit={submit} className="grid gap-4">
        {refusedName === undefined && refusedDomain === undefined && <FormError error={making.error} />}
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
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="main" disabled={making.isPending}>
            Create
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
