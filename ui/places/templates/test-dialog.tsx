/** Sends the texts as they are shown to the sandbox, where nothing leaves the machine, and leads to the mail in the inbox. */
import { useMutation } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { Send } from 'lucide-react';
import { useState } from 'react';
import type { Template, TextsRendering } from '../../../src/client/api-types.ts';
import { findCapture } from '../../api/captures.ts';
import { sendEmail } from '../../api/messages.ts';
import { Button } from '../../components/button.tsx';
import { Dialog, DialogForm } from '../../components/dialog.tsx';
import { Field } from '../../components/field.tsx';
import { toast } from '../../components/toasts.tsx';

interface Filled {
  template: Template;
  filled: TextsRendering;
}

export function TestButton({ template, filled }: { template: Template; filled: TextsRendering | undefined }) {
  const [open, setOpen] = useState(false);
  const hasContent = filled !== undefined && (filled.HTMLContent ?? filled.PlainContent) !== null;
  return (
    <>
      <Button disabled={!hasContent} onClick={() => setOpen(true)}>
        <Send size={14} aria-hidden className="max-[44rem]:hidden" /> Send a test
      </Button>
      {open && filled !== undefined && (
        <TestDialog template={template} filled={filled} onClose={() => setOpen(false)} />
      )}
    </>
  );
}

function TestDialog({ template, filled, onClose }: Filled & { onClose(): void }) {
  const navigate = useNavigate();
  const [from, setFrom] = useState(`test@${template.Domain}`);
  const [to, setTo] = useState('you@example.net');
  const [subject, setSubject] = useState(filled.Subject ?? `Test of ${template.Name}`);
  const sending = useMutation({
    mutationFn: async () => {
      const { MessageID } = await sendEmail({
        From: { email: from.trim() },
        To: [{ email: to.trim() }],
        Subject: subject,
        ContentType: filled.HTMLContent === null ? 'Text' : 'HTML',
        ...(filled.HTMLContent === null ? {} : { HTMLContent: filled.HTMLContent }),
        ...(filled.PlainContent === null ? {} : { PlainContent: filled.PlainContent }),
        Sandbox: true,
      });
      return findCapture(MessageID, to.trim());
    },
    onSuccess(capture) {
      onClose();
      toast({
        text: 'The test is in the inbox',
        standsMs: 10_000,
        action: {
          name: 'Show it',
          run: () =>
            void (capture === null
              ? navigate({ to: '/inbox' })
              : navigate({ to: '/inbox/$id', params: { id: capture } })),
        },
      });
    },
  });
  return (
    <Dialog title="Send a test to the sandbox" onClose={onClose}>
      <DialogForm
        running={sending}
        action={sending.isPending ? 'Sending…' : 'Send'}
        onSubmit={() => sending.mutate()}
        onCancel={onClose}
      >
        <p className="text-soft">
          The texts as the preview shows them, saved or not. The mail is captured and never leaves this
          server.
        </p>
        <Field
          label="From"
          type="email"
          required
          value={from}
          onChange={({ target }) => setFrom(target.value)}
        />
        <Field label="To" type="email" required value={to} onChange={({ target }) => setTo(target.value)} />
        {filled.Subject === null && (
          <Field
            label="Subject"
            hint="The template leaves it to each request."
            required
            value={subject}
            onChange={({ target }) => setSubject(target.value)}
          />
        )}
      </DialogForm>
    </Dialog>
  );
}
