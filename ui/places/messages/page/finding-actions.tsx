/** What can be done about a finding: try again, lift a suppression, see all that failed for the same cause. */
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { RotateCw } from 'lucide-react';
import type { MessageWithContents } from '../../../../src/client/api-types.ts';
import { ME, mayDo } from '../../../api/me.ts';
import { unsuppress } from '../../../api/suppressions.ts';
import { Button } from '../../../components/button.tsx';
import type { Finding } from './findings.ts';
import { retried, useWork } from './message-tools.tsx';

/** Where another try may help; for what was refused for good there is the button above the message. */
const TRIED_AGAIN: readonly Finding['status'][] = ['Failed', 'Deferred', 'Held'];

const LINK = 'inline-flex min-h-8 items-center text-accent underline-offset-2 hover:underline';

export function FindingActions(props: {
  message: MessageWithContents;
  finding: Finding;
  /** All that is to be said: what is done for it is done for no other. */
  isOnly: boolean;
  onChanged(): void;
}) {
  const { message, finding, isOnly, onChanged } = props;
  const { data: me } = useQuery(ME);
  const { run, isRunning } = useWork(onChanged);
  const lift = async () => {
    await Promise.all(finding.recipients.map((address) => unsuppress(message.Domain, address)));
    return 'Removed from the suppression list. Mail sent from now on is delivered';
  };
  return (
    <div className="flex flex-wrap items-center gap-2 empty:hidden">
      {isOnly && TRIED_AGAIN.includes(finding.status) && mayDo(me, 'email:send') && (
        <Button isBusy={isRunning} onClick={() => run(() => retried(message.MessageID))}>
          <RotateCw size={14} aria-hidden /> Retry now
        </Button>
      )}
      {finding.status === 'Suppressed' && mayDo(me, 'suppressions:write') && (
        <Button isBusy={isRunning} onClick={() => run(lift)}>
          Remove from the suppression list
        </Button>
      )}
      {finding.heldBy === 'domain' && mayDo(me, 'domains:read') && (
        <Link to="/domains/$name" params={{ name: message.Domain }} className={LINK}>
          Show the domain
        </Link>
      )}
      {finding.heldBy === 'hold' && mayDo(me, 'admin', 'listHolds') && (
        <Link to="/queue" search={{ view: 'holds' }} className={LINK}>
          Show the holds
        </Link>
      )}
      {finding.causeId !== null && (
        <Link to="/messages" search={{ q: `cause:${finding.causeId}` }} className={LINK}>
          All mail with the same cause
        </Link>
      )}
    </div>
  );
}
