/** A sentence in the middle of an area that has nothing else to show: empty, failed, or closed. */
import type { ReactNode } from 'react';
import { Button } from './button.tsx';

export function Notice({ title, children, icon }: { title: string; children?: ReactNode; icon?: ReactNode }) {
  return (
    <div className="grid h-full place-content-center justify-items-center gap-2 p-6 text-center">
      {icon !== undefined && <div className="text-soft">{icon}</div>}
      <h2 className="text-base font-semibold">{title}</h2>
      <div className="max-w-prose text-soft">{children}</div>
    </div>
  );
}

/** The same for what could not be read, with another try. */
export function Failed(props: { title: string; why: string; icon?: ReactNode; onAgain(): void }) {
  return (
    <Notice title={props.title} icon={props.icon}>
      <p className="mb-3">{props.why}</p>
      <Button onClick={props.onAgain}>Try again</Button>
    </Notice>
  );
}
