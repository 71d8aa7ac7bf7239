/** What scopes and presets allow, in words. Pure. */

export type PresetName = 'Send' | 'Default' | 'Full' | 'Admin';

export interface PresetWords {
  name: PresetName;
  /** For whom it is. */
  use: string;
  may: string;
  mayNot: string;
}

/** The narrowest first. */
export const PRESETS: readonly PresetWords[] = [
  {
    name: 'Send',
    use: 'A program that only sends',
    may: 'send mail',
    mayNot: 'read anything, not even what it sent',
  },
  {
    name: 'Default',
    use: 'A program that also looks at what became of its mail',
    may: 'send mail; read messages, events, suppressions and statistics; make and change webhooks',
    mayNot: 'change domains, suppressions or templates, or make tokens',
  },
  {
    name: 'Full',
    use: 'Somebody who runs these domains',
    may: 'do everything for its domains, also make SMTP credentials and further tokens',
    mayNot: 'see other domains, or change this server',
  },
  {
    name: 'Admin',
    use: 'An operator’s script',
    may: 'do everything, for all domains: people, the queue, the configuration',
    mayNot: 'nothing is closed to it: keep it as safe as a password',
  },
];

/** How many scopes there are beside `admin`: who has them all has the preset Full. */
const ALL_BUT_ADMIN = 15;
const THINGS: Readonly<Record<string, string>> = {
  email: 'messages',
  events: 'events',
  webhooks: 'webhooks',
  domains: 'domains',
  suppressions: 'suppressions',
  templates: 'templates',
  stats: 'statistics',
  tokens: 'tokens',
  smtp: 'SMTP credentials',
};

/** A phrase: `send mail; read messages and events; change webhooks`. */
export function rightsText(scopes: readonly string[]): string {
  if (scopes.includes('admin')) return 'everything';
  if (new Set(scopes).size >= ALL_BUT_ADMIN) return 'everything for its domains';
  const parts = scopes.map((scope) => scope.split(':') as [string, string]);
  const changed = parts.filter(([, verb]) => verb === 'write').map(([thing]) => thing);
  const read = parts
    .filter(([thing, verb]) => verb === 'read' && !changed.includes(thing))
    .map(([thing]) => thing);
  const phrases = [
    ...(scopes.includes('email:send') ? ['send mail'] : []),
    ...(read.length === 0 ? [] : [`read ${listText(read.map(thingText))}`]),
    ...(changed.length === 0 ? [] : [`change ${listText(changed.map(thingText))}`]),
  ];
  return phrases.length === 0 ? 'nothing' : phrases.join('; ');
}

/** `a, b and c`. */
function listText(words: readonly string[]): string {
  const last = words.at(-1) ?? '';
  return words.length < 2 ? last : `${words.slice(0, -1).join(', ')} and ${last}`;
}

function thingText(thing: string): string {
  return THINGS[thing] ?? thing;
}
