/** What stands in place of a page: at an address that names nothing, and where its code cannot be loaded or fails. */
import { Link } from '@tanstack/react-router';
import { Component, type ReactNode, Suspense, useEffect } from 'react';
import { asksAgainAfterMs, isThere, Unreachable } from '../api/call.ts';
import { Button } from './button.tsx';
import { Dialog } from './dialog.tsx';
import { Notice } from './notice.tsx';
import { OfflineBanner } from './offline-banner.tsx';
import { usePageTitle } from './page-title.ts';
import { messageOf } from './toasts.tsx';

export function Missing() {
  const title = 'There is no such page';
  usePageTitle(title);
  return (
    <Notice title={title}>
      <Link to="/" className="text-accent underline">
        Go to the first page
      </Link>
    </Notice>
  );
}

/** As browsers say that code is not there; its name changes with the version. */
const NO_CODE = /import(?:ed|ing)/i;

const BROKEN = 'This page has to be loaded again';

export function Broken({ error }: { error: unknown }) {
  const isAway = error instanceof Unreachable;
  useEffect(() => {
    if (!isAway) return;
    const again = async () => {
      if (await isThere()) location.reload();
    };
    const timer = setInterval(again, asksAgainAfterMs(error));
    return () => clearInterval(timer);
  }, [isAway, error]);
  return isAway ? (
    <OfflineBanner error={error} />
  ) : (
    <Notice title={BROKEN}>
      <LoadAgain error={error} />
    </Notice>
  );
}

function LoadAgain({ error }: { error: unknown }) {
  const why = messageOf(error);
  return (
    <>
      <p className="mb-3">
        {NO_CODE.test(why)
          ? 'A part of it cannot be loaded: the server was upgraded since it was opened, or does not answer.'
          : why}
      </p>
      <Button onClick={() => location.reload()}>Load it again</Button>
    </>
  );
}

/**
 * A part of a page whose code is loaded when it is shown. Where that fails, the rest of the page stays; of a dialog (`onClose`),
 * which then says it itself, the whole page.
 */
export class LazyPart extends Component<
  { waiting?: ReactNode; onClose?(): void; children: ReactNode },
  { failure: { error: unknown } | null }
> {
  override state: { failure: { error: unknown } | null } = { failure: null };

  static getDerivedStateFromError(error: unknown) {
    return { failure: { error } };
  }

  override render() {
    const { waiting = null, onClose, children } = this.props;
    const { failure } = this.state;
    if (failure === null) return <Suspense fallback={waiting}>{children}</Suspense>;
    if (onClose === undefined) return <Broken error={failure.error} />;
    return (
      <Dialog title={BROKEN} onClose={onClose}>
        <LoadAgain error={failure.error} />
      </Dialog>
    );
  }
}
