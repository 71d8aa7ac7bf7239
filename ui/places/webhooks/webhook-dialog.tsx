/** Makes a webhook, and shows its secret once; or changes one. */
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import type { WebhookDetail } from '../../../src/client/api-types.ts';
import { fieldError } from '../../api/call.ts';
import { changeWebhook, createWebhook, WEBHOOKS } from '../../api/webhooks.ts';
import { Dialog, DialogForm } from '../../components/dialog.tsx';
import { Field } from '../../components/field.tsx';
import { SenderDomain, useFirstDomain } from '../../components/sender-domain.tsx';
import { ShownOnce } from '../../components/shown-once.tsx';
import { EventFields } from './event-fields.tsx';

/** `webhook`: the one to change; left out: a new one. */
export function WebhookDialog({ webhook, onClose }: { webhook?: WebhookDetail; onClose(): void }) {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [url, setUrl] = useState(webhook?.WebhookURL ?? '');
  const [events, setEvents] = useState<readonly string[]>(webhook?.Events ?? ['all']);
  const [description, setDescription] = useState(webhook?.Description ?? '');
  const first = useFirstDomain();
  const [domain, setDomain] = useState(first);
  const saving = useMutation({
    mutationFn: async () => {
      const wanted = { WebhookURL: url.trim(), Events: events, Description: description.trim() };
      if (webhook === undefined) return createWebhook({ ...wanted, Domain: domain.trim() });
      await changeWebhook(webhook.WebhookID, wanted);
      return null;
    },
    onSuccess: (made) => {
      void queries.invalidateQueries({ queryKey: WEBHOOKS });
      if (made === null) onClose();
    },
  });
  const made = saving.data;
  const close = (): void => {
    onClose();
    if (made != null) void navigate({ to: '/webhooks/$id', params: { id: String(made.NewWebhookID) } });
  };
  const refusedUrl = fieldError(saving.error, '/WebhookURL');
  const refusedDomain = fieldError(saving.error, '/Domain');
  return (
    <Dialog title={webhook === undefined ? 'New webhook' : 'Change the webhook'} isWide onClose={close}>
      {made != null ? (
        <ShownOnce what="secret" text={made.Secret} onClose={close}>
          <p className="text-soft">
            Your receiver needs it to verify that a call is from this server. The page of the webhook has code
            for that.
          </p>
        </ShownOnce>
      ) : (
        <DialogForm
          running={saving}
          action={webhook === undefined ? 'Create' : 'Save'}
          missing={events.length > 0 ? null : 'Choose an event first'}
          isErrorAtField={refusedUrl !== undefined || refusedDomain !== undefined}
          onSubmit={() => saving.mutate()}
          onCancel={onClose}
        >
          <Field
            label="Address"
            hint="It is called with POST for each event."
            error={refusedUrl}
            type="url"
            placeholder="https://app.example.com/hooks/mail"
            required
            autoFocus
            maxLength={2048}
            value={url}
            onChange={(event) => setUrl(event.target.value)}
          />
          {webhook === undefined && (
            <SenderDomain
              value={domain}
              hint="It is called for mail from this domain."
              error={refusedDomain}
              onValue={setDomain}
            />
          )}
          <EventFields value={events} onValue={setEvents} />
          <Field
            label="Description"
            placeholder="optional"
            maxLength={256}
            value={description}
            onChange={(event) => setDescription(event.target.value)}
          />
        </DialogForm>
      )}
    </Dialog>
  );
}
