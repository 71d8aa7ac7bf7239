/**
 * The addresses of the dashboard: one route a place, what is looked for in the query, so that a link shows the same. The code
 * of a place is loaded when it is opened.
 */
import { createRootRoute, createRoute, createRouter, lazyRouteComponent } from '@tanstack/react-router';
import type { ComponentType } from 'react';
import { isThere, Unreachable } from './api/call.ts';
import { Broken, Missing } from './components/missing.tsx';
import { Home } from './shell/home.tsx';
import { Shell } from './shell/shell.tsx';

export interface InboxSearch {
  /** What is searched, in the words of `search-words.ts`. */
  q?: string;
  /** Name of the only inbox that is shown. */
  inbox?: string;
}

/** What is searched, in the words of the place. */
export interface WordsSearch {
  q?: string;
}

export interface QueueSearch {
  /** What is shown; left out: the sites. */
  view?: 'causes' | 'holds';
  /** What a site is found by. */
  q?: string;
}

export interface DomainSearch {
  /** What is shown of a domain; left out: its DNS records. */
  view?: 'signing' | 'reports' | 'limits' | 'settings';
}

export interface OverviewSearch {
  /** How far back the charts go; left out: a day. */
  range?: '7d' | '30d' | '90d';
  /** The only sender domain that is counted. */
  domain?: string;
}

export interface TemplateSearch {
  /** What is shown of a template; left out: its texts. */
  view?: 'versions';
  /** Of the versions: the one that is compared with the newest. */
  version?: number;
}

export interface AccessSearch {
  /** What is shown; left out: the tokens. */
  tab?: string;
  /** What a token, a credential or a person is found by. */
  q?: string;
  /** Of the audit: by whom, which operation, from and to which day. */
  who?: string;
  operation?: string;
  since?: string;
  until?: string;
}

export interface SystemSearch {
  /** What is shown; left out: the first that the person may see. */
  tab?: string;
  /** What a setting is found by. */
  q?: string;
}

/** The routes, with the types of their addresses. */
export function createAppRouter() {
  const root = createRootRoute({ component: Shell, notFoundComponent: Missing });
  const getParentRoute = () => root;
  const home = createRoute({ getParentRoute, path: '/', component: Home });
  // Where the identity provider sends the browser back to; whoever is signed in has nothing to do there.
  const signIn = createRoute({ getParentRoute, path: '/sign-in', component: Home });
  const inbox = createRoute({
    getParentRoute,
    path: '/inbox',
    component: placeOf(() => import('./places/inbox/inbox-place.tsx'), 'InboxPlace'),
    validateSearch: ({ inbox: name, ...given }: Record<string, unknown>): InboxSearch => ({
      ...textsOf(given, ['q']),
      // Also the inbox without a name.
      ...(name === undefined ? {} : { inbox: String(name) }),
    }),
  });
  const mail = createRoute({ getParentRoute: () => inbox, path: '$id' });
  const messages = createRoute({
    getParentRoute,
    path: '/messages',
    component: placeOf(() => import('./places/messages/messages-place.tsx'), 'MessagesPlace'),
    validateSearch: wordsOf,
  });
  const message = createRoute({ getParentRoute: () => messages, path: '$id' });
  const overview = createRoute({
    getParentRoute,
    path: '/overview',
    component: placeOf(() => import('./places/overview/overview-place.tsx'), 'OverviewPlace'),
    validateSearch: ({ range, ...given }: Record<string, unknown>): OverviewSearch => ({
      ...(range === '7d' || range === '30d' || range === '90d' ? { range } : {}),
      ...textsOf(given, ['domain']),
    }),
  });
  const queue = createRoute({
    getParentRoute,
    path: '/queue',
    component: placeOf(() => import('./places/queue/queue-place.tsx'), 'QueuePlace'),
    validateSearch: ({ view, ...given }: Record<string, unknown>): QueueSearch => ({
      ...(view === 'causes' || view === 'holds' ? { view } : {}),
      ...textsOf(given, ['q']),
    }),
  });
  const site = createRoute({
    getParentRoute,
    path: '/queue/$site',
    component: placeOf(() => import('./places/queue/site-page.tsx'), 'SitePage'),
  });
  const suppressions = createRoute({
    getParentRoute,
    path: '/suppressions',
    component: placeOf(() => import('./places/suppressions/suppressions-place.tsx'), 'SuppressionsPlace'),
    validateSearch: wordsOf,
  });
  const suppressionImport = createRoute({
    getParentRoute,
    path: '/suppressions/import',
    component: placeOf(() => import('./places/suppressions/import/import-page.tsx'), 'ImportPage'),
  });
  const domains = createRoute({
    getParentRoute,
    path: '/domains',
    component: placeOf(() => import('./places/domains/domains-place.tsx'), 'DomainsPlace'),
    validateSearch: wordsOf,
  });
  const domain = createRoute({
    getParentRoute,
    path: '/domains/$name',
    component: placeOf(() => import('./places/domains/domain-page.tsx'), 'DomainPage'),
    validateSearch: ({ view }: Record<string, unknown>): DomainSearch =>
      view === 'signing' || view === 'reports' || view === 'limits' || view === 'settings' ? { view } : {},
  });
  const system = createRoute({
    getParentRoute,
    path: '/system',
    component: placeOf(() => import('./places/system/system-place.tsx'), 'SystemPlace'),
    validateSearch: (given: Record<string, unknown>): SystemSearch => textsOf(given, ['tab', 'q']),
  });
  const webhooks = createRoute({
    getParentRoute,
    path: '/webhooks',
    component: placeOf(() => import('./places/webhooks/webhooks-place.tsx'), 'WebhooksPlace'),
    validateSearch: wordsOf,
  });
  const webhook = createRoute({
    getParentRoute,
    path: '/webhooks/$id',
    component: placeOf(() => import('./places/webhooks/webhook-page.tsx'), 'WebhookPage'),
  });
  const templates = createRoute({
    getParentRoute,
    path: '/templates',
    component: placeOf(() => import('./places/templates/templates-place.tsx'), 'TemplatesPlace'),
    validateSearch: wordsOf,
  });
  const template = createRoute({
    getParentRoute,
    path: '/templates/$id',
    component: placeOf(() => import('./places/templates/template-page.tsx'), 'TemplatePage'),
    validateSearch: ({ view, version }: Record<string, unknown>): TemplateSearch => ({
      ...(view === 'versions' ? { view } : {}),
      ...(Number.isSafeInteger(version) && Number(version) > 0 ? { version: Number(version) } : {}),
    }),
  });
  const access = createRoute({
    getParentRoute,
    path: '/access',
    component: placeOf(() => import('./places/access/access-place.tsx'), 'AccessPlace'),
    validateSearch: (given: Record<string, unknown>): AccessSearch =>
      textsOf(given, ['tab', 'q', 'who', 'operation', 'since', 'until']),
  });
  const inboxes = inbox.addChildren([mail]);
  const allMail = messages.addChildren([message]);
  const tree = [
    ...[home, signIn, inboxes, allMail, overview, queue, site, domains, domain],
    ...[webhooks, webhook, suppressions, suppressionImport, templates, template, access, system],
  ];
  return createRouter({
    routeTree: root.addChildren(tree),
    defaultErrorComponent: Broken,
    defaultPreload: false,
    scrollRestoration: false,
  });
}

/**
 * The code of a place. Where it is gone, because the server was upgraded since, the router loads the page again; where the
 * server does not answer, that would leave nothing.
 */
function placeOf<Name extends string>(load: () => Promise<Record<Name, ComponentType>>, name: Name) {
  const loadOrSay = () =>
    load().catch(async (error: unknown) => {
      throw (await isThere()) ? error : new Unreachable(error);
    });
  return lazyRouteComponent(loadOrSay, name);
}

function wordsOf(given: Record<string, unknown>): WordsSearch {
  return textsOf(given, ['q']);
}

/** Those of the names that are given, as texts. */
function textsOf<Name extends string>(
  given: Record<string, unknown>,
  names: readonly Name[],
): { [name in Name]?: string } {
  const texts: { [name in Name]?: string } = {};
  for (const name of names) if (given[name] != null && given[name] !== '') texts[name] = String(given[name]);
  return texts;
}

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof createAppRouter>;
  }
}
