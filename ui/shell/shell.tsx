/** What every place stands in: the rail at the left, on a phone a bar at the foot, and messages that come and go. */
import { Outlet, useRouterState } from '@tanstack/react-router';
import { useCallback, useState } from 'react';
import { usePageTitle } from '../components/page-title.ts';
import { Toasts } from '../components/toasts.tsx';
import { BottomBar } from './bottom-bar.tsx';
import { Palette, usePaletteKey } from './palette.tsx';
import { placeName } from './places.ts';
import { Rail } from './rail.tsx';
import { SignedIn } from './signed-in.tsx';

export function Shell() {
  return (
    <>
      <SignedIn>
        <Frame />
      </SignedIn>
      <Toasts />
    </>
  );
}

function Frame() {
  const [finds, setFinds] = useState(false);
  const find = useCallback(() => setFinds(true), []);
  usePaletteKey(find);
  return (
    <div className="flex h-full">
      <PlaceTitle />
      <a
        href="#content"
        className="sr-only rounded-md border border-line bg-surface px-3 py-2 text-accent focus:not-sr-only focus:absolute focus:z-10"
      >
        Skip to the content
      </a>
      <Rail onFind={find} />
      <div className="flex min-w-0 flex-1 flex-col">
        <div id="content" tabIndex={-1} className="min-h-0 flex-1 outline-none">
          <Outlet />
        </div>
        <BottomBar onFind={find} />
      </div>
      {finds && <Palette onClose={() => setFinds(false)} />}
    </div>
  );
}

/** In front of the place, whose own title comes after it. */
function PlaceTitle() {
  // Known at once: what comes later than the title of the page would replace it.
  usePageTitle(useRouterState({ select: ({ matches }) => placeName(matches.at(-1)?.pathname ?? '') }));
  return null;
}
