/**
 * The title of the page, which tells tabs, bookmarks and the history apart: the place, or the thing of it that is shown. Who
 * stands later in the page says it last, so the place is in front of what it holds.
 */
import { useRouterState } from '@tanstack/react-router';
import { useLayoutEffect } from 'react';

/** null: nothing is said here. */
export function usePageTitle(text: string | null): void {
  // Of what is shown; the address changes before that.
  const path = useRouterState({ select: ({ matches }) => matches.at(-1)?.pathname });
  // biome-ignore lint/correctness/useExhaustiveDependencies: the place says its name with every path
  useLayoutEffect(() => {
    if (text !== null) document.title = text === '' ? 'postrider' : `${text} · postrider`;
  }, [text, path]);
}

/** In place of the title that the page has, which it then has again. */
export function useTitleMeanwhile(text: string): void {
  useLayoutEffect(() => {
    const before = document.title;
    document.title = `${text} · postrider`;
    return () => {
      document.title = before;
    };
  }, [text]);
}
