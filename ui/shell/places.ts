/** The places of the dashboard, in the order of the rail: where each is, its word, and its sign. */
import { Gauge, Hourglass, Inbox, type LucideIcon, Mails } from 'lucide-react';

export interface DashboardPlace {
  path: '/inbox' | '/messages' | '/overview' | '/queue';
  name: string;
  icon: LucideIcon;
}

/** The first four stand in the bar of a phone; the others behind “More”. */
export const PLACES: readonly DashboardPlace[] = [
  { path: '/inbox', name: 'Inbox', icon: Inbox },
  { path: '/messages', name: 'Messages', icon: Mails },
  { path: '/overview', name: 'Overview', icon: Gauge },
  { path: '/queue', name: 'Queue', icon: Hourglass },
];
