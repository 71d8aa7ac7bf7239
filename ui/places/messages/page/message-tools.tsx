/** What is done with a message as a whole: try again, cancel, copy it. */
import { useMutation, useQuery } from '@tanstack/react-query';
import { CircleSlash, Download, Link2, RotateCw, Send, SquareTerminal } from 'lucide-react';
import { useState } from 'react';
import type { CancelAnswer, MessageWithContents } from '../../../../src/client/api-types.ts';
import { ME, mayDo } from '../../../api/me.ts';
import { cancelMessage, messageSourceUrl, resendMessage, retryMessage } from '../../../api/messages.ts';
import { Button } from '../../../components/button.tsx';
import { copyText } from '../../../components/copy.tsx';
import { countOf } from '../../../components/count.ts';
import { Question } from '../../../components/dialog.tsx';
import { downloadFrom } from '../../../components/download.ts';
import { SendDialog } from '../../../components/mail/send-dialog.tsx';
import { MoreMenu } from '../../../components/menu.tsx';
import { toast, toastError } from '../../../components/toasts.tsx';
import { curlText } from './curl-text.ts';

const WAITS = ['Scheduled', 'Queued', 'Held', 'Deferred'];
const TRIED_AGAIN = ['Failed', 'Bounced', 'Deferred', 'Held'];

export function MessageTools({ message, onChanged }: { message: MessageWithContents; onChanged(): void }) {
  const { MessageID: id, Recipients } = message;
  const { data: me } = useQuery(ME);
  const [asks, setAsks] = useState(false);
  const [resends, setResends] = useState(false);
  const has = (words: readonly string[]) =>
    mayDo(me, 'email:send') && Recipients.some(({ Status }) => words.includes(Status));
  const { run, isRunning } = useWork(onChanged);
  return (
    <>
      {has(TRIED_AGAIN) && (
        <Button look="quiet" isBusy={isRunning} onClick={() => run(() => retried(id))}>
          <RotateCw size={14} aria-hidden /> Retry now
        </Button>
      )}
      {has(WAITS) && (
        <Button look="quiet" isBusy={isRunning} onClick={() => setAsks(true)}>
          <CircleSlash size={14} aria-hidden /> Cancel…
        </Button>
      )}
      <span className="ml-auto" />
      <MoreMenu
        label="More about this message"
        entries={[
          {
            icon: Send,
            name: 'Resend a copy…',
            disabled: message.Attachments === null || message.Sandbox || !mayDo(me, 'email:send'),
            run: () => setResends(true),
          },
          {
            icon: SquareTerminal,
            name: 'Copy as curl',
            disabled: message.Attachments === null,
            run: () => copyText(curlText(message, location.origin), 'Command copied'),
          },
          {
            icon: Link2,
            name: 'Copy link',
            run: () => copyText(`${location.origin}/messages/${id}`, 'Link copied'),
          },
          {
            icon: Download,
            name: 'Download (.eml)',
            disabled: message.Attachments === null,
            run: () => downloadFrom(messageSourceUrl(id), `${id}.eml`),
          },
        ]}
      />
      {resends && (
        <SendDialog
          title="Resend a copy"
          text="The same contents go out as a new message; this one stays as it is."
          action="Resend"
          to={Recipients[0]?.Email ?? ''}
          send={(to) => resendMessage(id, to)}
          onClose={() => setResends(false)}
        />
      )}
      {asks && (
        <Question
          title="Cancel this message?"
          text="Recipients that still wait are not sent to. What was delivered stays delivered. “Retry now” does not bring canceled recipients back."
          action="Cancel the message"
          cancel="Keep it"
          onYes={async () => {
            toast({ text: canceledText(await cancelMessage(id)) });
            onChanged();
          }}
          onClose={() => setAsks(false)}
        />
      )}
    </>
  );
}

/** What a click does about a message, once at a time. `run` is given what does it and gives back the words that say so. */
export function useWork(onChanged: () => void) {
  const { mutate, isPending } = useMutation({
    mutationFn: (work: () => Promise<string>) => work(),
    onSuccess(said) {
      toast({ text: said });
      onChanged();
    },
    onError: toastError,
  });
  return { run: mutate, isRunning: isPending };
}

function canceledText({ Canceled, TooLate }: CancelAnswer): string {
  return `Canceled for ${countOf(Canceled, 'recipient')}${TooLate === 0 ? '' : `; for ${TooLate} it was too late`}`;
}

/** What came of another try. */
export async function retried(id: string): Promise<string> {
  const { Queued, Opened, Closed } = await retryMessage(id);
  const [closed] = Closed;
  if (closed !== undefined)
    return `Queued again. ${closed.Site} takes no mail at the moment: ${closed.Reason}`;
  if (Queued === 0 && Opened > 0) return 'It is tried now';
  return `Queued again for ${countOf(Queued, 'recipient')}`;
}
