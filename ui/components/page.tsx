/** What a place of one column stands in: its title, what belongs beside it, and below it whatever scrolls. */
import { useRouterState } from '@tanstack/react-router';
import {
  type ComponentProps,
  createContext,
  type ReactNode,
  type UIEvent,
  useLayoutEffect,
  useRef,
} from 'react';
import { asksAgainAfterMs, isForbidden, isMissing } from '../api/call.ts';
import { BackLink } from './back-link.tsx';
import { takeLostFocus } from './button.tsx';
import { Failed, Notice } from './notice.tsx';
import { OfflineBanner } from './offline-banner.tsx';
import { usePageTitle } from './page-title.ts';

/** The failure that the page itself says. */
export const SaidError = createContext<Error | null>(null);

export function Page({
  title,
  name,
  back,
  tools,
  error = null,
  children,
}: {
  title: ReactNode;
  /** The title as text, where it is more. */
  name?: string;
  /** The list that it belongs to. */
  back?: ComponentProps<typeof BackLink>;
  tools?: ReactNode;
  /** Why the last request failed, while something older is shown. What the person may not see is offered nothing for. */
  error?: Error | null;
  children: ReactNode;
}) {
  const place = useScrollPlace();
  usePageTitle(name ?? (typeof title === 'string' ? title : null));
  const isRefused = isForbidden(error);
  return (
    <main className="flex h-full flex-col bg-surface">
      <OfflineBanner error={error} />
      <div {...place} className="min-h-0 flex-1 overflow-y-auto">
        <div className="mx-auto grid max-w-6xl grid-cols-1 gap-5 p-4 min-[44rem]:px-6">
          <header className="flex min-h-8 flex-wrap items-center gap-x-4 gap-y-2">
            <Title className="flex min-w-0 items-start gap-2 font-semibold text-lg">
              {back !== undefined && <BackLink {...back} />}
              <span className="min-w-0 py-0.5 pointer-coarse:py-2.25">{title}</span>
            </Title>
            {!isRefused && tools}
          </header>
          <SaidError value={asksAgainAfterMs(error) > 0 ? error : null}>
            {isRefused ? <NotYet error={error} onAgain={() => undefined} /> : children}
          </SaidError>
        </div>
      </div>
    </main>
  );
}

/** Has the focus as the page opens, also where the link that led here is gone: it is read out, and keys scroll what is around it. */
export function Title({ className = '', ...rest }: ComponentProps<'h1'>) {
  return <h1 ref={takeLostFocus} tabIndex={-1} {...rest} className={`outline-none ${className}`} />;
}

/** How far down each entry of the browser's history was read. */
const scrolled = new Map<string, number>();

/** Who goes back to a list finds it where it was left. */
function useScrollPlace() {
  const box = useRef<HTMLDivElement>(null);
  const entry = useRouterState({ select: ({ location }) => location.state.__TSR_key ?? '' });
  useLayoutEffect(() => {
    const top = scrolled.get(entry);
    if (top !== undefined && box.current !== null) box.current.scrollTop = top;
  }, [entry]);
  return {
    ref: box,
    onScroll: ({ currentTarget }: UIEvent<HTMLDivElement>) => scrolled.set(entry, currentTarget.scrollTop),
  };
}

/** Grey bars where an answer is on its way, or why none came. `missing`: said of what does not exist. */
export function NotYet(props: { error: Error | null; missing?: ReactNode; onAgain(): void }) {
  const { error, missing } = props;
  if (error === null)
    return (
      <div aria-busy="true" className="grid gap-3">
        <span className="sr-only">Loading</span>
        {[60, 85, 40, 70, 55].map((width) => (
          <div key={width} className="h-5 rounded bg-hover" style={{ width: `${width}%` }} />
        ))}
      </div>
    );
  if (isMissing(error)) return missing ?? <Notice title="This does not exist">{error.message}</Notice>;
  return <Failed title="This cannot be read now" error={error} onAgain={props.onAgain} />;
}

/** The same in a pane beside a list: bars that came and went would flicker as one goes through the list. */
export function PaneNotYet(props: ComponentProps<typeof NotYet>) {
  return (
    <div className="appears-late min-h-0 flex-1 p-4">
      <NotYet {...props} />
    </div>
  );
}

/** A part of a page with its heading. */
export function Section({
  title,
  aside,
  children,
}: {
  title: ReactNode;
  aside?: ReactNode;
  children: ReactNode;
}) {
  return (
    <section className="grid grid-cols-[minmax(0,1fr)] gap-2">
      <div className="flex flex-wrap items-baseline gap-x-3">
        <h2 className="font-semibold text-base">{title}</h2>
        {aside !== undefined && <span className="text-soft">{aside}</span>}
      </div>
      {children}
    </section>
  );
}
