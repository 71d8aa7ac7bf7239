/** Who, what, when and where it stands, above the views of a message. */
import { Link } from '@tanstack/react-router';
import type { MessageWithContents } from '../../../../src/client/api-types.ts';
import { Addresses, HeadRow } from '../../../components/addresses.tsx';
import { bytesText } from '../../../components/bytes.ts';
import { CopyButton } from '../../../components/copy.tsx';
import { Status } from '../../../components/status.tsx';
import { exactTime, Time } from '../../../components/time.tsx';
import { statusOf } from '../status-words.ts';

export function MessageHead({ message }: { message: MessageWithContents }) {
  const { MessageID, From, To, CC, BCC, Tags, Metadata, Priority, CreatedAt, SendAt, Size } = message;
  const { status, words } = statusOf(message);
  const metadata = Object.entries(Metadata);
  return (
    <header className="shrink-0 px-4 pb-3">
      <h1 dir="auto" className="max-h-20 overflow-y-auto text-lg">
        <bdi>{message.Subject === '' ? '(no subject)' : message.Subject}</bdi>
      </h1>
      <p className="mt-1">
        <Status status={status} words={words} className="font-semibold" />
      </p>
      <dl className="mt-2 grid max-h-40 grid-cols-[auto_1fr] gap-x-3 gap-y-0.5 overflow-y-auto">
        <HeadRow name="From">
          <Addresses list={[From]} />
        </HeadRow>
        {[
          ['To', To],
          ['Cc', CC],
          ['Bcc', BCC],
        ].map(([name, list]) =>
          list?.length === 0 ? null : (
            <HeadRow key={String(name)} name={String(name)}>
              <Addresses list={list as typeof To} />
            </HeadRow>
          ),
        )}
        <HeadRow name="Accepted">
          {exactTime(CreatedAt)}{' '}
          <span className="text-soft">
            (<Time at={CreatedAt} />, {Priority}, {bytesText(Size)})
          </span>
        </HeadRow>
        {SendAt !== null && <HeadRow name="Scheduled">{exactTime(SendAt)}</HeadRow>}
        <HeadRow name="ID">
          <span className="font-mono text-xs">{MessageID}</span>
          <span className="-my-2 inline-block align-middle">
            <CopyButton text={MessageID} label="Copy the message id" />
          </span>
        </HeadRow>
        {Tags.length > 0 && (
          <HeadRow name="Tags">
            {Tags.map((tag, index) => (
              <span key={tag}>
                {index > 0 && ', '}
                <Found words={`tag:${quoted(tag)}`}>{tag}</Found>
              </span>
            ))}
          </HeadRow>
        )}
        {metadata.map(([key, value]) => (
          <HeadRow key={key} name={key}>
            <Found words={`metadata.${quoted(key)}:${quoted(value)}`}>{value}</Found>
          </HeadRow>
        ))}
      </dl>
    </header>
  );
}

function Found({ words, children }: { words: string; children: string }) {
  return (
    <Link to="/messages" search={{ q: words }} className="text-accent underline-offset-2 hover:underline">
      <bdi>{children}</bdi>
    </Link>
  );
}

/** As one word of a search; what holds a quote cannot be one. */
function quoted(text: string): string {
  return /\s/.test(text) ? `"${text.replaceAll('"', '')}"` : text.replaceAll('"', '');
}
