/** What can be done with a webhook: test, repeat calls, rotate the secret, change, disable, delete. */
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { Send } from 'lucide-react';
import { useState } from 'react';
import type { WebhookDetail } from '../../../src/client/api-types.ts';
import { changeWebhook, removeWebhook, WEBHOOKS } from '../../api/webhooks.ts';
import { Button } from '../../components/button.tsx';
import { MoreMenu } from '../../components/menu.tsx';
import { toast, toastError } from '../../components/toasts.tsx';
import { useRemoval } from '../../components/use-removal.ts';
import { ReplayDialog } from './replay-dialog.tsx';
import { RotateDialog } from './rotate-dialog.tsx';
import { WebhookDialog } from './webhook-dialog.tsx';

export function WebhookTools({
  webhook,
  mayReadEvents,
  isTesting,
  onTest,
}: {
  webhook: WebhookDetail;
  /** Needed to say where events go. */
  mayReadEvents: boolean;
  isTesting: boolean;
  onTest(): void;
}) {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const remove = useRemoval<number>(WEBHOOKS);
  const [open, setOpen] = useState<'edit' | 'replay' | 'rotate' | null>(null);
  const close = () => setOpen(null);
  const isDisabled = webhook.Status === 'Disabled';
  const switching = useMutation({
    mutationFn: (Status: 'Enabled' | 'Disabled') => changeWebhook(webhook.WebhookID, { Status }),
    onSuccess({ Status, Pending }) {
      const waiting = Pending === 0 ? '' : `: ${Pending.toLocaleString()} waiting calls are made now`;
      toast({
        text: Status === 'Enabled' ? `The webhook is enabled${waiting}` : 'The webhook is disabled',
      });
      void queries.invalidateQueries({ queryKey: WEBHOOKS });
    },
    onError: toastError,
  });
  return (
    <div className="ml-auto flex gap-2">
      {isDisabled && (
        <Button look="main" isBusy={switching.isPending} onClick={() => switching.mutate('Enabled')}>
          Enable
        </Button>
      )}
      <Button isBusy={isTesting} onClick={onTest}>
        <Send size={14} aria-hidden /> Send a test
      </Button>
      <MoreMenu
        label="More"
        entries={[
          ...(mayReadEvents ? [{ name: 'Change…', run: () => setOpen('edit') }] : []),
          ...(isDisabled || webhook.Pending === 0
            ? []
            : [{ name: 'Make waiting calls now', run: () => switching.mutate('Enabled') }]),
          { name: 'Replay calls…', run: () => setOpen('replay') },
          { name: 'Rotate the secret…', run: () => setOpen('rotate') },
          ...(isDisabled ? [] : [{ name: 'Disable', run: () => switching.mutate('Disabled') }]),
          {
            name: 'Delete',
            isDangerous: true,
            run() {
              remove(webhook.WebhookID, 'The webhook is deleted', (leaving) =>
                removeWebhook(webhook.WebhookID, leaving),
              );
              void navigate({ to: '/webhooks' });
            },
          },
        ]}
      />
      {open === 'edit' && <WebhookDialog webhook={webhook} onClose={close} />}
      {open === 'replay' && <ReplayDialog id={webhook.WebhookID} onClose={close} />}
      {open === 'rotate' && <RotateDialog id={webhook.WebhookID} onClose={close} />}
    </div>
  );
}
