/** The places at the foot of a phone, and a menu with the further ones and what belongs to none. */
import { useQuery } from '@tanstack/react-query';
import { Link, useLocation, useNavigate } from '@tanstack/react-router';
import { BookOpen, Ellipsis, Search } from 'lucide-react';
import { ME } from '../api/me.ts';
import { Menu } from '../components/menu.tsx';
import { NEXT_THEME, THEME_ICON, useTheme } from '../components/theme-button.tsx';
import { usePlaces } from './places.ts';
import { useSessionMenu } from './session-menu.tsx';

const LOOK =
  'grid min-w-0 flex-1 content-center justify-items-center gap-0.5 whitespace-nowrap text-soft text-[0.75rem] leading-4 -outline-offset-2 data-[status=active]:font-semibold data-[status=active]:text-accent';

/** On a low screen, and a page that is enlarged very much, what it names needs the room. */
const WORD = '[@media(max-height:24rem)]:sr-only';

export function BottomBar({ onFind }: { onFind(): void }) {
  const navigate = useNavigate();
  const places = usePlaces();
  const { data: me } = useQuery(ME);
  const { pathname } = useLocation();
  const isFurtherOpen = places.some(
    ({ path, isFurther }) => isFurther === true && (pathname === path || pathname.startsWith(`${path}/`)),
  );
  const session = useSessionMenu();
  const [theme, setTheme] = useTheme();
  return (
    <nav
      aria-label="Places"
      className="flex h-14 shrink-0 border-line border-t bg-page min-[44rem]:hidden [@media(max-height:24rem)]:h-9"
    >
      {places
        .filter(({ isFurther }) => isFurther !== true)
        .map(({ path, name, icon: Icon }) => (
          <Link key={path} to={path} className={LOOK}>
            <Icon size={20} aria-hidden />
            <span className={WORD}>{name}</span>
          </Link>
        ))}
      {/* Room for the last place, so that nothing moves under a finger when the rights are known. */}
      {me === undefined && <span className={LOOK} />}
      <Menu
        trigger={
          <button type="button" data-status={isFurtherOpen ? 'active' : undefined} className={LOOK}>
            <Ellipsis size={20} aria-hidden />
            <span className={WORD}>More</span>
          </button>
        }
        entries={[
          ...places
            .filter(({ isFurther }) => isFurther)
            .map(({ path, name, icon }) => ({ icon, name, run: () => void navigate({ to: path }) })),
          {
            icon: Search,
            name: 'Find…',
            run: onFind,
          },
          {
            icon: THEME_ICON[theme],
            name: `Theme: ${theme}`,
            run: () => setTheme(NEXT_THEME[theme]),
          },
          {
            icon: BookOpen,
            name: 'Reference of the API',
            run: () => location.assign('/api/v1/docs'),
          },
          ...session.entries,
        ]}
      />
      {session.dialogs}
    </nav>
  );
}
