/**
 * The addresses of the dashboard: one route a place, what is looked for in the query, so that a link shows the same. The code
 * of a place is loaded when it is opened.
 */
import type { QueryClient } from '@tanstack/react-query';
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent,
  redirect,
} from '@tanstack/react-router';
import { ME } from './api/me.ts';
import { Missing } from './components/missing.tsx';
import { Shell } from './shell/shell.tsx';

export interface InboxSearch {
  /** What is searched, in the words of `search-words.ts`. */
  q?: string;
  /** Name of the only inbox that is shown. */
  inbox?: string;
}

export interface MessagesSearch {
  /** What is searched, in the words of the messages' `search-words.ts`. */
  q?: string;
}

/** The routes, with the types of their addresses. `queries`: what the API answered. */
export function createAppRouter(queries: QueryClient) {
  const root = createRootRouteWithContext<{ queries: QueryClient }>()({
    component: Shell,
    notFoundComponent: Missing,
  });
  const home = createRoute({
    getParentRoute: () => root,
    path: '/',
    beforeLoad: async ({ context }) => {
      // Whoever is not let in is told so by any place.
      const me = await context.queries.ensureQueryData(ME).catch(() => null);
      throw redirect({ to: me?.Mode === 'serve' ? '/messages' : '/inbox', replace: true });
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
  const messages = createRoute({
    getParentRoute: () => root,
    path: '/messages',
    component: lazyRouteComponent(() => import('./places/messages/messages-place.tsx'), 'MessagesPlace'),
    validateSearch: ({ q }: Record<string, unknown>): MessagesSearch =>
      q === undefined || q === '' ? {} : { q: String(q) },
  });
  const message = createRoute({ getParentRoute: () => messages, path: '$id' });
  return createRouter({
    routeTree: root.addChildren([home, inbox.addChildren([mail]), messages.addChildren([message])]),
    context: { queries },
    defaultPreload: false,
    scrollRestoration: false,
  });
}

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof createAppRouter>;
  }
}
