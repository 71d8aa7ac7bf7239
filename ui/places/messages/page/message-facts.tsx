/** What else is known of a message, below what became of it: copies, labels, the sender's own texts, its id. */
import { Link } from '@tanstack/react-router';
import type { MessageWithContents } from '../../../../src/client/api-types.ts';
import { Addresses, HeadRow, Tags as TagList } from '../../../components/addresses.tsx';
import { bytesText } from '../../../components/bytes.ts';
import { CopyButton } from '../../../components/copy.tsx';
import { quoted } from '../../../components/search-text.ts';
import { exactTime } from '../../../components/time.tsx';

export function MessageFacts({ message }: { message: MessageWithContents }) {
  const { MessageID, CC, BCC, ReplyTo, Tags, Metadata, Priority, SendAt, ExpiresAt, Size, Domain } = message;
  const waits = ['Scheduled', 'Queued', 'Sending'].includes(message.Status);
  const lists = [['Cc', CC] as const, ['Bcc', BCC] as const, ['Reply to', ReplyTo] as const];
  return (
    <section className="grid gap-2">
      <h2 className="font-semibold">About the message</h2>
      <dl className="grid grid-cols-[minmax(5rem,auto)_minmax(0,1fr)] items-baseline gap-x-3 gap-y-1">
        <HeadRow name="Message id">
          <span className="font-mono text-xs">{MessageID}</span>
          <span className="-my-2 inline-block align-middle">
            <CopyButton text={MessageID} label="Copy the message id" />
          </span>
        </HeadRow>
        {lists.map(([name, list]) =>
          list.length === 0 ? null : (
            <HeadRow key={name} name={name}>
              <Addresses list={list} />
            </HeadRow>
          ),
        )}
        <HeadRow name="Domain">
          <Found words={`domain:${Domain}`}>{Domain}</Found>
        </HeadRow>
        {Tags.length > 0 && (
          <HeadRow name="Tags">
            <TagList tags={Tags}>{(tag) => <Found words={`tag:${quoted(tag)}`}>{tag}</Found>}</TagList>
          </HeadRow>
        )}
        {Object.entries(Metadata).map(([key, value]) => (
          <HeadRow key={key} name={key}>
            <Found words={`metadata.${quoted(key)}:${quoted(value)}`}>{value}</Found>
          </HeadRow>
        ))}
        {SendAt !== null && <HeadRow name="Scheduled">{exactTime(SendAt)}</HeadRow>}
        {waits && <HeadRow name="Expires">{exactTime(ExpiresAt)}</HeadRow>}
        <HeadRow name="Priority">{Priority}</HeadRow>
        <HeadRow name="Size">{bytesText(Size)}</HeadRow>
      </dl>
    </section>
  );
}

function Found({ words, children }: { words: string; children: string }) {
  return (
    <Link to="/messages" search={{ q: words }} className="text-accent underline-offset-2 hover:underline">
      <bdi>{children}</bdi>
    </Link>
  );
}
