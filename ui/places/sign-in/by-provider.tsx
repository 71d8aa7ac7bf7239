/**
 * Signing in by the identity provider, where there is one: a button that leads there, and what follows when the browser comes
 * back to `/sign-in`. The address that was asked for is shown again afterwards.
 */
import { useMutation, useQuery } from '@tanstack/react-query';
import { useRouter } from '@tanstack/react-router';
import { useEffect } from 'react';
import type { Session } from '../../../src/client/api-types.ts';
import { goToProvider, PROVIDER, signInByProvider } from '../../api/session.ts';
import { Button } from '../../components/button.tsx';
import { FormError } from '../../components/field.tsx';
import { BACK, isBackFromProvider } from './provider-address.ts';

/** In the storage of this tab: what was to be shown. */
const WANTED = 'postrider-wanted';

export function ByProvider({
  again = false,
  onSession,
}: {
  /** Whoever is signed in here proves at the provider who they are. */
  again?: boolean;
  onSession(session: Session): void;
}) {
  const router = useRouter();
  const provider = useQuery(PROVIDER).data;
  const going = useMutation({
    mutationFn: () => goToProvider(again),
    onSuccess: (url) => {
      const { pathname, search } = location;
      sessionStorage.setItem(WANTED, pathname === BACK ? '/' : pathname + search);
      location.assign(url);
    },
  });
  const { mutate: finish, ...finishing } = useMutation({
    mutationFn: signInByProvider,
    onSuccess: (session) => {
      router.history.replace(wantedAddress());
      onSession(session);
    },
  });
  useEffect(() => {
    const query = takeQuery();
    if (query !== '') finish(query);
  }, [finish]);

  if (provider == null || provider.Name === null) return null;
  const isBusy = going.isPending || going.isSuccess || finishing.isPending;
  return (
    <div className={`grid gap-4 ${again ? '' : 'border-line border-t pt-4'}`}>
      <FormError error={going.error ?? finishing.error} />
      {provider.Origin === location.origin ? (
        <Button className="justify-center" isBusy={isBusy} onClick={() => going.mutate()}>
          {isBusy ? 'Signing in…' : `Sign in ${again ? 'again ' : ''}with ${provider.Name}`}
        </Button>
      ) : (
        <a href={`${provider.Origin}/`} className="text-accent underline">
          Sign in with {provider.Name} at {provider.Origin}
        </a>
      )}
    </div>
  );
}

/** What the provider added to the address, which then stands nowhere any more; '' where the browser does not come from there. */
function takeQuery(): string {
  if (!isBackFromProvider()) return '';
  const { search } = location;
  history.replaceState(null, '', BACK);
  return search.slice(1);
}

/** Of this page itself, whatever the storage holds. */
function wantedAddress(): string {
  const wanted = sessionStorage.getItem(WANTED) ?? '/';
  sessionStorage.removeItem(WANTED);
  const url = URL.canParse(wanted, location.origin) ? new URL(wanted, location.origin) : null;
  return url?.origin === location.origin ? url.pathname + url.search : '/';
}
