/** What an address that names nothing shows. */
import { Link } from '@tanstack/react-router';
import { Notice } from './notice.tsx';
import { usePageTitle } from './page-title.ts';

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
