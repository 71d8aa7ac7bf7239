/** Above the views of a mail: subject, who to whom, when, and the codes in it, because they are looked for most. */

import type { CaptureDetail } from '../../../../src/client/api-types.ts';
import { Address, Addresses, FewAddresses, HeadRow, Tags } from '../../../components/addresses.tsx';
import { Title } from '../../../components/page.tsx';
import { usePageTitle } from '../../../components/page-title.ts';
import { Ago, exactTime } from '../../../components/time.tsx';
import { Code } from './links.tsx';

const CODES_SHOWN = 3;

export function MailHead({ mail }: { mail: CaptureDetail }) {
  const { From, To, EnvelopeTo } = mail;
  // A blind copy, or a +label that the header does not show.
  const hidden = !To.some(({ Email }) => Email.toLowerCase() === EnvelopeTo.toLowerCase());
  const subject = mail.Subject === '' ? '(no subject)' : mail.Subject;
  usePageTitle(subject);
  return (
    <header className="shrink-0 px-4 pb-3">
      <Title dir="auto" className="line-clamp-3 font-semibold text-lg" title={mail.Subject}>
        <bdi>{subject}</bdi>
      </Title>
      <dl className="mt-2 grid grid-cols-[auto_minmax(0,1fr)] gap-x-3 gap-y-0.5">
        <HeadRow name="From">
          <Addresses list={[From]} />
        </HeadRow>
        <HeadRow name="To">
          <FewAddresses list={To} />
        </HeadRow>
        {hidden && (
          <HeadRow name="Sent to">
            <Address text={EnvelopeTo} />
          </HeadRow>
        )}
        <HeadRow name="Captured">
          {exactTime(mail.CapturedAt)}{' '}
          <span className="text-soft">
            (<Ago at={mail.CapturedAt} />, inbox{' '}
            <bdi>{mail.Inbox === '' ? 'without a name' : mail.Inbox}</bdi>)
          </span>
        </HeadRow>
        {mail.Tags.length > 0 && (
          <HeadRow name="Tags">
            <Tags tags={mail.Tags} />
          </HeadRow>
        )}
        {mail.ReleasedAt !== null && <HeadRow name="Released">{exactTime(mail.ReleasedAt)}</HeadRow>}
      </dl>
      {mail.Codes.length > 0 && (
        <ul aria-label="Codes" className="mt-2 flex flex-wrap gap-2">
          {mail.Codes.slice(0, CODES_SHOWN).map((code) => (
            <Code key={code} code={code} />
          ))}
        </ul>
      )}
    </header>
  );
}
