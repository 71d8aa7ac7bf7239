/** The places at the left, one level: a sign above its word, and below them what belongs to none. */
import { Link } from '@tanstack/react-router';
import { BookOpen, Search } from 'lucide-react';
import { ThemeButton } from '../components/theme-button.tsx';
import { Mark } from './mark.tsx';
import { usePlaces } from './places.ts';
import { SessionMenu } from './session-menu.tsx';

const ENTRY =
  'grid justify-items-center gap-1 rounded-md px-0.5 py-2 text-soft text-[0.75rem] leading-4 hover:bg-hover hover:text-ink [@media(max-height:46rem)]:py-1';

export function Rail({ onFind }: { onFind(): void }) {
  const places = usePlaces();
  return (
    <nav
      aria-label="Places"
      className="hidden w-28 shrink-0 flex-col overflow-y-auto border-line border-r bg-page px-1.5 min-[44rem]:flex"
    >
      <Link to="/" aria-label="postrider" className="grid h-14 shrink-0 place-items-center">
        <Mark />
      </Link>
      <button
        type="button"
        onClick={onFind}
        title="Find an address, a message or a place (Ctrl K)"
        aria-keyshortcuts="Control+K"
        className={`mb-1 ${ENTRY}`}
      >
        <Search size={18} aria-hidden />
        Find
      </button>
      <ul className="grid gap-1">
        {places.map(({ path, name, icon: Icon, isFurther }, place) => (
          <li
            key={path}
            className={
              isFurther === true && places[place - 1]?.isFurther !== true ? 'border-line border-t pt-1' : ''
            }
          >
            <Link
              to={path}
              className={`${ENTRY} data-[status=active]:bg-chosen data-[status=active]:font-semibold data-[status=active]:text-ink`}
            >
              <Icon size={18} aria-hidden />
              {name}
            </Link>
          </li>
        ))}
      </ul>
      <div className="mt-auto flex justify-center py-2">
        <SessionMenu />
        <ThemeButton />
        <a
          href="/api/v1/docs"
          title="Reference of the API"
          aria-label="Reference of the API"
          className="inline-grid size-8 place-items-center rounded-md text-soft hover:bg-hover hover:text-ink"
        >
          <BookOpen size={16} aria-hidden />
        </a>
      </div>
    </nav>
  );
}
