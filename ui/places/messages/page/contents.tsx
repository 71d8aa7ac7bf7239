/** What was sent, as long as it is kept: how it looks, its text, its source, its files. */
import type { ReactNode } from 'react';
import type { MessageWithContents } from '../../../../src/client/api-types.ts';
import { getMessageSource, messageFileUrl, messagePageUrl, messageSourceUrl } from '../../../api/messages.ts';
import { Attachments } from '../../../components/mail/attachments.tsx';
import { PlainText } from '../../../components/mail/plain-text.tsx';
import { Preview } from '../../../components/mail/preview.tsx';
import { Source } from '../../../components/mail/source.tsx';
import { Notice } from '../../../components/notice.tsx';
import type { Tab } from '../../../components/tabs.tsx';

export function contentTabs(message: MessageWithContents): readonly Tab[] {
  const { MessageID: id, HTMLContent, PlainContent, Attachments: files } = message;
  // The files are null where nothing is kept any more.
  const kept = (view: () => ReactNode) => () => (files === null ? <Gone /> : view());
  return [
    {
      value: 'preview',
      name: 'Preview',
      view: kept(() => (
        <Preview
          sender={message.From.Email}
          html={HTMLContent ?? ''}
          urlOf={(remoteImages) => messagePageUrl(id, remoteImages)}
          note="Links do not open in the preview"
        />
      )),
    },
    {
      value: 'text',
      name: 'Text',
      view: kept(() =>
        PlainContent === null ? (
          <Notice title="This message has no text part">Readers without HTML see nothing.</Notice>
        ) : (
          <PlainText text={PlainContent} />
        ),
      ),
    },
    {
      value: 'source',
      name: 'Source',
      view: kept(() => <Source id={id} url={messageSourceUrl(id)} read={getMessageSource} />),
    },
    {
      value: 'attachments',
      name: 'Attachments',
      count: files?.length ?? 0,
      view: kept(() => <Attachments files={files ?? []} urlOf={(place) => messageFileUrl(id, place)} />),
    },
  ];
}

function Gone() {
  return (
    <Notice title="The content was removed">
      The status and the events of the message are still here. How long contents are kept is a setting of the
      domain.
    </Notice>
  );
}
