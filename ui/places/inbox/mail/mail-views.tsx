/** The views of one mail. Which one is open is remembered while mails are gone through. */
import { lazy, useState } from 'react';
import type { CaptureDetail } from '../../../../src/client/api-types.ts';
import { attachmentUrl, getSource, pageUrl, sourceUrl } from '../../../api/captures.ts';
import { Attachments } from '../../../components/mail/attachments.tsx';
import { PlainText } from '../../../components/mail/plain-text.tsx';
import { Preview } from '../../../components/mail/preview.tsx';
import { Source } from '../../../components/mail/source.tsx';
import { LazyPart } from '../../../components/missing.tsx';
import { Notice } from '../../../components/notice.tsx';
import { Tabs } from '../../../components/tabs.tsx';
import { Headers } from './headers.tsx';
import { Links } from './links.tsx';
import { TestCode } from './test-code.tsx';

// What is not seen at first is loaded when it is looked at.
const Checks = lazy(() => import('./checks.tsx').then((module) => ({ default: module.Checks })));

let lastView = 'preview';

export function MailViews({ mail }: { mail: CaptureDetail }) {
  const tabs = [
    { value: 'preview', name: 'Preview', view: () => <MailPreview mail={mail} /> },
    { value: 'text', name: 'Text', view: () => <Text mail={mail} /> },
    {
      value: 'source',
      name: 'Source',
      view: () => <Source id={mail.ID} url={sourceUrl(mail.ID)} read={getSource} />,
    },
    { value: 'headers', name: 'Headers', view: () => <Headers mail={mail} /> },
    {
      value: 'links',
      name: 'Links',
      count: mail.Links.length + mail.Codes.length,
      view: () => <Links mail={mail} />,
    },
    {
      value: 'attachments',
      name: 'Attachments',
      count: mail.Attachments.length,
      view: () => <Attachments files={mail.Attachments} urlOf={(place) => attachmentUrl(mail.ID, place)} />,
    },
    {
      value: 'checks',
      name: 'Checks',
      view: () => (
        <LazyPart>
          <Checks mail={mail} />
        </LazyPart>
      ),
    },
    { value: 'code', name: 'Test code', view: () => <TestCode mail={mail} /> },
  ];
  const [view, setView] = useState(lastView);
  const open = (value: string): void => {
    lastView = value;
    setView(value);
  };
  return <Tabs label="Views of the mail" value={view} onValue={open} tabs={tabs} />;
}

function MailPreview({ mail }: { mail: CaptureDetail }) {
  if (mail.ParseError !== null)
    return (
      <Notice title="This mail cannot be read as MIME">{mail.ParseError}. Look at its source instead.</Notice>
    );
  return (
    <Preview
      sender={mail.From.Email}
      html={mail.HTMLContent}
      urlOf={(remoteImages) => pageUrl(mail.ID, remoteImages)}
      note="Links do not open in the preview: “Links” lists them all"
    />
  );
}

function Text({ mail }: { mail: CaptureDetail }) {
  if (mail.PlainContent === '')
    return (
      <Notice title="This mail has no text part">
        Readers without HTML see nothing. “Checks” says more.
      </Notice>
    );
  return <PlainText text={mail.PlainContent} />;
}
