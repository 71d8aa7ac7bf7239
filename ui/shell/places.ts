/** The places of the dashboard, in the order of the rail: where each is, its word, and its sign. */
import { useQuery } from '@tanstack/react-query';
import {
  Ban,
  FileText,
  Gauge,
  Globe,
  Hourglass,
  Inbox,
  KeyRound,
  type LucideIcon,
  Mails,
  Server,
  Webhook,
} from 'lucide-react';
import { ME, mayDo } from '../api/me.ts';

export interface DashboardPlace {
  path:
    | '/inbox'
    | '/messages'
    | '/overview'
    | '/queue'
    | '/domains'
    | '/webhooks'
    | '/suppressions'
    | '/templates'
    | '/access'
    | '/system';
  name: string;
  icon: LucideIcon;
  /** Any of these is needed to see anything there. */
  scopes: readonly string[];
  /** What may be called there without a scope. */
  operation?: string;
  /** Nearly everybody may see it: it is shown before the rights are known. */
  isUsual?: true;
  /** Of the second group: what is set up, rather than what happens. */
  isFurther?: true;
}

/** Those of the first group stand in the bar of a phone, the others behind “More”. */
const PLACES: readonly DashboardPlace[] = [
  { path: '/inbox', name: 'Inbox', icon: Inbox, scopes: ['email:read'], isUsual: true },
  { path: '/messages', name: 'Messages', icon: Mails, scopes: ['email:read'], isUsual: true },
  { path: '/overview', name: 'Overview', icon: Gauge, scopes: ['stats:read'], isUsual: true },
  { path: '/queue', name: 'Queue', icon: Hourglass, scopes: ['admin'], operation: 'getQueue' },
  { path: '/domains', name: 'Domains', icon: Globe, scopes: ['domains:read'], isFurther: true },
  { path: '/webhooks', name: 'Webhooks', icon: Webhook, scopes: ['webhooks:read'], isFurther: true },
  {
    path: '/suppressions',
    name: 'Suppressions',
    icon: Ban,
    scopes: ['suppressions:read'],
    isFurther: true,
  },
  { path: '/templates', name: 'Templates', icon: FileText, scopes: ['templates:read'], isFurther: true },
  { path: '/access', name: 'Access', icon: KeyRound, scopes: ['tokens:read', 'smtp:write'], isFurther: true },
  {
    path: '/system',
    name: 'System',
    icon: Server,
    scopes: ['admin', 'email:read'],
    operation: 'listNodes',
    isFurther: true,
  },
];

/** '' = the address is that of no place. */
export function placeName(path: string): string {
  return PLACES.find((place) => path === place.path || path.startsWith(`${place.path}/`))?.name ?? '';
}

/** Those that answer the person who looks. */
export function usePlaces(): readonly DashboardPlace[] {
  const { data: me } = useQuery(ME);
  return PLACES.filter(({ scopes, operation, isUsual }) =>
    me === undefined ? isUsual : scopes.some((one) => mayDo(me, one, operation)),
  );
}
