/** A sentence in the middle of an area that has nothing else to show: empty, failed, or closed. */
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { SearchX } from 'lucide-react';
import type { ReactNode } from 'react';
import { isForbidden } from '../api/call.ts';
import { ME, mayDo } from '../api/me.ts';
import { Button } from './button.tsx';
import { addressOf } from './search-text.ts';
import { messageOf } from './toasts.tsx';

export function Notice({ title, children, icon }: { title: string; children?: ReactNode; icon?: ReactNode }) {
  return (
    <div className="grid h-full place-content-center justify-items-center gap-2 p-6 text-center">
      {icon !== undefined && <div className="text-soft">{icon}</div>}
      <h2 className="text-base font-semibold">{title}</h2>
      <div className="max-w-prose text-soft">{children}</div>
    </div>
  );
}

/** The same for what could not be read: with another try, unless the person may not see it. */
export function Failed(props: { title: string; error: unknown; icon?: ReactNode; onAgain(): void }) {
  const why = messageOf(props.error);
  if (isForbidden(props.error)) return <Notice title="You may not see this">{why}</Notice>;
  return (
    <Notice title={props.title} icon={props.icon}>
      <p className="mb-3">{why}</p>
      <Button onClick={props.onAgain}>Try again</Button>
    </Notice>
  );
}

/** Where a search finds nothing. Who looked for an address mostly wants to know what became of the mail to it. */
export function NothingFound(props: {
  title: string;
  words: string;
  /** The words of the button that shows everything. */
  all: string;
  onAll(): void;
}) {
  const { data: me } = useQuery(ME);
  const address = mayDo(me, 'email:read') ? addressOf(props.words.trim()) : null;
  return (
    <Notice title={props.title} icon={<SearchX aria-hidden />}>
      {address !== null && (
        <p className="mb-3">
          <Link to="/messages" search={{ q: address }} className="text-accent underline">
            Show the mail to <bdi>{address}</bdi>
          </Link>
        </p>
      )}
      <Button onClick={props.onAll}>{props.all}</Button>
    </Notice>
  );
}
