/** The kinds of events that a webhook can be called for, in words and in groups. Pure. */

export interface EventChoice {
  token: string;
  name: string;
  meaning: string;
}

export const EVENT_GROUPS: readonly { name: string; events: readonly EventChoice[] }[] = [
  {
    name: 'What became of the mail',
    events: [
      { token: 'delivery', name: 'Delivered', meaning: 'the next server took it' },
      { token: 'delay', name: 'Delayed', meaning: 'not now; it is tried again' },
      { token: 'bounce', name: 'Bounced', meaning: 'the receiver refused it for good' },
      { token: 'failure', name: 'Failed', meaning: 'given up: expired or impossible' },
      { token: 'suppression', name: 'Suppressed', meaning: 'not sent: on the suppression list' },
      { token: 'rejection', name: 'Rejected', meaning: 'refused by this server' },
    ],
  },
  {
    name: 'What the reader did',
    events: [
      { token: 'open', name: 'Opened', meaning: 'the tracking image was fetched' },
      { token: 'click', name: 'Clicked', meaning: 'a tracked link was followed' },
      { token: 'complaint', name: 'Complained', meaning: 'reported as spam' },
      { token: 'unsubscribe', name: 'Unsubscribed', meaning: 'by the link or the header' },
    ],
  },
  {
    name: 'On the way',
    events: [
      { token: 'accept', name: 'Accepted', meaning: 'stored, will be tried' },
      { token: 'schedule', name: 'Scheduled', meaning: 'stored for a later time' },
      { token: 'cancel', name: 'Canceled', meaning: 'stopped before it was sent' },
      { token: 'requeue', name: 'Queued again', meaning: 'by request' },
    ],
  },
  {
    name: 'About the domain',
    events: [
      { token: 'domain', name: 'Domain', meaning: 'its checks, warnings and holds' },
      { token: 'system', name: 'System', meaning: 'a webhook was disabled' },
    ],
  },
  {
    name: 'About the server (for the domain *)',
    events: [
      { token: 'operator', name: 'Alerts', meaning: 'something begins or ceases to need the operator' },
    ],
  },
];

const NAMES = new Map(EVENT_GROUPS.flatMap(({ events }) => events.map(({ token, name }) => [token, name])));

/** `Bounced, Complained`; `All events`. */
export function eventsText(tokens: readonly string[]): string {
  return tokens.includes('all') ? 'All events' : tokens.map((one) => NAMES.get(one) ?? one).join(', ');
}
