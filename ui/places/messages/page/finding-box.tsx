/** One thing that keeps the message from recipients: whose fault, what to do, and the buttons that do it. */
import type { ReactNode } from 'react';
import { Address } from '../../../components/addresses.tsx';
import { Status } from '../../../components/status.tsx';
import { NextTry, Until } from '../../../components/time.tsx';
import type { Finding } from './findings.ts';

const TITLES: Partial<Record<Finding['status'], string>> = {
  Bounced: 'Refused by the receiving server',
  Failed: 'Given up',
  Rejected: 'Refused here',
  Held: 'Held back on this server',
  Deferred: 'Could not be delivered yet',
  Suppressed: 'Not sent: on the suppression list',
  Queued: 'Waits',
  Scheduled: 'Scheduled for later',
  Canceled: 'Stopped before it was sent',
};
const EDGE: Partial<Record<Finding['status'], string>> = {
  Bounced: 'border-l-bad',
  Failed: 'border-l-bad',
  Rejected: 'border-l-bad',
  Held: 'border-l-warn',
  Deferred: 'border-l-warn',
  Suppressed: 'border-l-warn',
};
const SHOWN = 3;

export function FindingBox({ finding, actions }: { finding: Finding; actions: ReactNode }) {
  const { status, recipients, sentence, reply, host, nextAttemptAt, expiresAt } = finding;
  const waits = status === 'Deferred' || status === 'Queued' || status === 'Scheduled';
  const others = recipients.length - SHOWN;
  return (
    <section
      className={`grid gap-2 rounded-md border border-line border-l-4 p-3 ${EDGE[status] ?? 'border-l-line-strong'}`}
    >
      <h2 className="flex flex-wrap items-center gap-x-2 font-semibold">
        <Status isSentence status={status} words={TITLES[status] ?? status} />
      </h2>
      <p className="text-soft">
        {recipients.slice(0, SHOWN).map((address, index) => (
          <span key={address}>
            {index > 0 && ', '}
            <span className="text-ink">
              <Address text={address} />
            </span>
          </span>
        ))}
        {others > 0 && ` and ${others} more`}
      </p>
      {sentence !== '' && <p className="max-w-prose">{sentence}</p>}
      {reply !== '' && (
        <figure className="min-w-0">
          <figcaption className="text-soft text-xs">
            {host === '' ? 'The other server said' : `${host} said`}
          </figcaption>
          <blockquote dir="auto" className="max-h-40 overflow-y-auto font-mono text-xs leading-5">
            {reply}
          </blockquote>
        </figure>
      )}
      {waits && (
        <p className="text-soft">
          {nextAttemptAt !== null && (
            <>
              {status === 'Scheduled' ? 'To be sent ' : 'Next try '}
              <NextTry at={nextAttemptAt} isLast />{' '}
            </>
          )}
          <Until at={expiresAt} before="Expires" after="Expired" isLast />
        </p>
      )}
      {actions}
    </section>
  );
}
