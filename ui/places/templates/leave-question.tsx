/** Asks before texts that are not saved are left: for another page of the dashboard here, otherwise as the browser asks. */
import { useBlocker } from '@tanstack/react-router';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import type { Draft } from './use-draft.ts';

export function LeaveQuestion({ draft: { isChanged, reset } }: { draft: Draft }) {
  const leaving = useBlocker({
    // The views of one template share what is not saved.
    shouldBlockFn: ({ current, next }) => isChanged && current.pathname !== next.pathname,
    enableBeforeUnload: () => isChanged,
    withResolver: true,
  });
  if (leaving.status !== 'blocked') return null;
  return (
    <Dialog title="Leave without saving?" onClose={leaving.reset}>
      <p className="mb-4">What you changed since the last version is not saved.</p>
      <div className="flex justify-end gap-2">
        <Button onClick={leaving.reset}>Stay</Button>
        <Button
          look="danger"
          onClick={() => {
            leaving.proceed();
            reset();
          }}
        >
          Discard changes
        </Button>
      </div>
    </Dialog>
  );
}
