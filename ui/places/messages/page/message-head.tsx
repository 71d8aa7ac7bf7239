/** Who, what, when and where it stands, above the views of a message. */

import type { MessageWithContents } from '../../../../src/client/api-types.ts';
import { Addresses, HeadRow } from '../../../components/addresses.tsx';
import { Title } from '../../../components/page.tsx';
import { usePageTitle } from '../../../components/page-title.ts';
import { Status } from '../../../components/status.tsx';
import { Ago, exactTime } from '../../../components/time.tsx';
import { statusOf } from '../status-words.ts';

/** The others stand in the list of recipients. */
const SHOWN = 3;

export function MessageHead({ message }: { message: MessageWithContents }) {
  const { From, To, CC, BCC, CreatedAt, Subject } = message;
  const { status, words } = statusOf(message);
  const everybody = [...To, ...CC, ...BCC];
  const subject = Subject === '' ? '(no subject)' : Subject;
  usePageTitle(subject);
  return (
    <header className="shrink-0 px-4 pb-2">
      <Title dir="auto" className="line-clamp-3 font-semibold text-lg" title={Subject}>
        <bdi>{subject}</bdi>
      </Title>
      <p className="mt-1">
        <Status status={status} words={words} isSentence className="max-w-full font-semibold" />
      </p>
      <dl className="mt-1 grid grid-cols-[auto_minmax(0,1fr)] gap-x-3 gap-y-0.5">
        <HeadRow name="From">
          <Addresses list={[From]} />
        </HeadRow>
        <HeadRow name="To">
          <Addresses list={everybody.slice(0, SHOWN)} />
          {everybody.length > SHOWN && (
            <span className="text-soft"> and {everybody.length - SHOWN} more</span>
          )}
        </HeadRow>
        <HeadRow name="Accepted">
          {exactTime(CreatedAt)}{' '}
          <span className="text-soft">
            (<Ago at={CreatedAt} />)
          </span>
        </HeadRow>
      </dl>
    </header>
  );
}
