/** What is done about one address: look at all its mail, put it on the suppression list or take it off. */
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { isMissing } from '../../../api/call.ts';
import { ME, mayDo } from '../../../api/me.ts';
import { suppress, unsuppress } from '../../../api/suppressions.ts';
import { MoreMenu } from '../../../components/menu.tsx';
import { toast, toastError } from '../../../components/toasts.tsx';

export function RecipientMenu(props: { domain: string; address: string; isSuppressed: boolean }) {
  const { domain, address } = props;
  const navigate = useNavigate();
  const { data: me } = useQuery(ME);
  const mayChange = mayDo(me, 'suppressions:write');
  const putOn = () =>
    void suppress(domain, address).then(
      ({ Added }) =>
        toast({
          text: Added === 0 ? `${address} is on the list already` : `No more mail goes to ${address}`,
          ...(Added === 0 ? {} : { action: { name: 'Undo', run: takeOff } }),
        }),
      toastError,
    );
  const takeOff = () =>
    void unsuppress(domain, address).then(
      () => toast({ text: `${address} is removed from the suppression list` }),
      (error: unknown) =>
        isMissing(error) ? toast({ text: `${address} is not on the suppression list` }) : toastError(error),
    );
  return (
    <MoreMenu
      label={`More about ${address}`}
      entries={[
        {
          name: 'All mail to this address',
          run: () => void navigate({ to: '/messages', search: { q: address } }),
        },
        ...(mayChange
          ? [
              ...(props.isSuppressed ? [] : [{ name: 'Suppress this address', run: putOn }]),
              { name: 'Remove from the suppression list', run: takeOff },
            ]
          : []),
      ]}
    />
  );
}
