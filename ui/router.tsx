/**
 * The addresses of the dashboard: one route a place, what is looked for in the query, so that a link shows the same. The code
 * of a place is loaded when it is opened.
 */
import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  redirect,
} from '@tanstack/react-router';
import { Missing } from './components/missing.tsx';
import { Shell } from './shell/shell.tsx';

export interface InboxSearch {
  /** What is searched, in the words of `search-words.ts`. */
  q?: string;
  /** Name of the only inbox that is shown. */
  inbox?: string;
}

/** The routes, with the types of their addresses. */
export function createAppRouter() {
  const root = createRootRoute({ component: Shell, notFoundComponent: Missing });
  const home = createRoute({
    getParentRoute: () => root,
    path: '/',
    beforeLoad: () => {
      throw redirect({ to: '/inbox', replace: true });
    },
  });
  const inbox = createRoute({
    getParentRoute: () => root,
    path: '/inbox',
    component: lazyRouteComponent(() => import('./places/inbox/inbox-place.tsx'), 'InboxPlace'),
    validateSearch: ({ q, inbox: name }: Record<string, unknown>): InboxSearch => ({
      ...(q === undefined || q === '' ? {} : { q: String(q) }),
      ...(name === undefined ? {} : { inbox: String(name) }),
    }),
  });
  const mail = createRoute({ getParentRoute: () => inbox, path: '$id' });
  return createRouter({
    routeTree: root.addChildren([home, inbox.addChildren([mail])]),
    defaultPreload: false,
    scrollRestoration: false,
  });
}

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof createAppRouter>;
  }
}
