/** What an address that names nothing shows. */
import { Link } from '@tanstack/react-router';
import { Notice } from './notice.tsx';

export function Missing() {
  return (
    <Notice title="There is no such page">
      <Link to="/inbox" className="text-accent underline">
        Go to the inbox
      </Link>
    </Notice>
  );
}
