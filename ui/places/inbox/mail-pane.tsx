/** One mail: what it is, what can be done with it, and its views. Opening it marks it as read. */
import { useQuery } from '@tanstack/react-query';
import { ArrowLeft, Download, Link2, MailOpen, Redo2, Send, Trash2 } from 'lucide-react';
import { type Ref, useEffect, useState } from 'react';
import type { CaptureDetail } from '../../../src/client/api-types.ts';
import { getCapture, releaseCapture, sourceUrl } from '../../api/captures.ts';
import { ME, mayDo } from '../../api/me.ts';
import { Button, IconButton } from '../../components/button.tsx';
import { copyText } from '../../components/copy.tsx';
import { downloadFrom } from '../../components/download.ts';
import { SendDialog } from '../../components/mail/send-dialog.tsx';
import { MoreMenu } from '../../components/menu.tsx';
import { Notice } from '../../components/notice.tsx';
import { PaneNotYet } from '../../components/page.tsx';
import { FirstMail } from './first-mail.tsx';
import { MailHead } from './mail/mail-head.tsx';
import { MailViews } from './mail/mail-views.tsx';
import { NextResultDialog } from './mail/next-result-dialog.tsx';

export function MailPane(props: {
  ref: Ref<HTMLElement>;
  id: string | null;
  /** Nothing was captured yet. */
  isEmpty: boolean;
  /** There is mail to choose from. */
  hasChoice: boolean;
  onBack(): void;
  onDelete(id: string): void;
  onMark(ids: readonly string[], seen: boolean): void;
}) {
  const { id, isEmpty, hasChoice } = props;
  return (
    <main
      ref={props.ref}
      tabIndex={-1}
      aria-label="Open mail"
      className="flex min-w-0 flex-1 flex-col overflow-y-auto outline-none"
    >
      {id !== null ? (
        <Mail key={id} {...props} id={id} />
      ) : isEmpty ? (
        <FirstMail />
      ) : (
        hasChoice && (
          <Notice title="Choose a mail">
            <kbd>j</kbd> and <kbd>k</kbd> go through the list, <kbd>?</kbd> shows all keys.
          </Notice>
        )
      )}
    </main>
  );
}

interface MailProps {
  id: string;
  onBack(): void;
  onDelete(id: string): void;
  onMark(ids: readonly string[], seen: boolean): void;
}

const GONE = (
  <Notice title="This mail is not here any more">
    It was deleted, removed because of its age, or it belongs to a domain that you may not see.
  </Notice>
);

function Mail({ id, onBack, onDelete, onMark }: MailProps) {
  const { data, error, refetch } = useQuery({
    queryKey: ['capture', id],
    queryFn: ({ signal }) => getCapture(id, signal),
    staleTime: Number.POSITIVE_INFINITY,
  });
  const there = data?.ID;
  useEffect(() => {
    if (there !== undefined) onMark([there], true);
  }, [there, onMark]);
  const back = (
    <IconButton label="Back to the list" keys="u" onClick={onBack} className="min-[54rem]:hidden">
      <ArrowLeft size={16} aria-hidden />
    </IconButton>
  );
  if (data === undefined)
    return (
      <>
        <div className="flex h-12 items-center px-3">{back}</div>
        <PaneNotYet error={error} missing={GONE} onAgain={() => void refetch()} />
      </>
    );
  return (
    <>
      <div className="flex min-h-12 shrink-0 flex-wrap items-center gap-1 px-3">
        {back}
        <MailTools mail={data} onDelete={onDelete} onMark={onMark} />
      </div>
      <MailHead mail={data} />
      <MailViews mail={data} />
    </>
  );
}

function MailTools({
  mail,
  onDelete,
  onMark,
}: { mail: CaptureDetail } & Pick<MailProps, 'onDelete' | 'onMark'>) {
  const [releases, setReleases] = useState(false);
  const [asksResult, setAsksResult] = useState(false);
  const mayChange = mayDo(useQuery(ME).data, 'email:send');
  return (
    <>
      {mayChange && (
        <Button look="quiet" onClick={() => setReleases(true)}>
          <Send size={14} aria-hidden /> Release…
        </Button>
      )}
      <span className="ml-auto" />
      <IconButton label="Mark as unread" keys="e" onClick={() => onMark([mail.ID], false)}>
        <MailOpen size={16} aria-hidden />
      </IconButton>
      {mayChange && (
        <IconButton label="Delete" keys="#" onClick={() => onDelete(mail.ID)}>
          <Trash2 size={16} aria-hidden />
        </IconButton>
      )}
      <MoreMenu
        label="More about this mail"
        entries={[
          {
            icon: Download,
            name: 'Download (.eml)',
            run: () => downloadFrom(sourceUrl(mail.ID), `${mail.ID}.eml`),
          },
          {
            icon: Link2,
            name: 'Copy link',
            run: () => copyText(`${location.origin}/inbox/${mail.ID}`, 'Link copied'),
          },
          ...(mayChange
            ? [
                {
                  icon: Redo2,
                  name: 'Another result next time…',
                  run: () => setAsksResult(true),
                },
              ]
            : []),
        ]}
      />
      {asksResult && <NextResultDialog mail={mail} onClose={() => setAsksResult(false)} />}
      {releases && (
        <SendDialog
          title="Release this mail"
          text="It leaves this server as a new message, with the same contents."
          action="Release"
          to={mail.EnvelopeTo}
          send={(to) => releaseCapture(mail.ID, to)}
          onClose={() => setReleases(false)}
        />
      )}
    </>
  );
}
