/** A sentence in the middle of an area that has nothing else to show: empty, failed, or closed. */
import type { ReactNode } from 'react';
import { isForbidden } from '../api/call.ts';
import { Button } from './button.tsx';
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
