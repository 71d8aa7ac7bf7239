/** What stands in place of a page: at an address that names nothing, and where its code cannot be loaded or fails. */
import { Link } from '@tanstack/react-router';
import { Button } from './button.tsx';
import { Notice } from './notice.tsx';
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

export function Broken({ error }: { error: unknown }) {
  const why = messageOf(error);
  return (
    <Notice title="This page has to be loaded again">
      <p className="mb-3">
        {NO_CODE.test(why)
          ? 'A part of it cannot be loaded: the server was upgraded since it was opened, or does not answer.'
          : why}
      </p>
      <Button onClick={() => location.reload()}>Load it again</Button>
    </Notice>
  );
}
