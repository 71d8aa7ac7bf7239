/** The way from the page of one thing to the list of all, before its title. Its arrow stands on the edge of the text below. */
import { Link } from '@tanstack/react-router';
import { ArrowLeft } from 'lucide-react';

type Lists = '/queue' | '/domains' | '/webhooks' | '/suppressions' | '/templates';

/** `label`: `Back to the domains`. `keys`: the key that does the same. */
export function BackLink({ to, label, keys }: { to: Lists; label: string; keys?: string }) {
  return (
    <Link
      to={to}
      // Otherwise it is told as the page that is shown, which lies below it.
      activeOptions={{ exact: true }}
      aria-label={label}
      title={keys === undefined ? label : `${label} (${keys})`}
      className="-ml-2 grid size-8 shrink-0 place-items-center rounded-md print:hidden text-soft hover:bg-hover hover:text-ink"
    >
      <ArrowLeft size={16} aria-hidden />
    </Link>
  );
}
