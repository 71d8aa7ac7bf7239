/**
 * How a record is entered at a DNS host: its name with or without the domain, a long text in one piece or in quoted strings
 * of 255 characters. Pure.
 */

export interface DnsHost {
  name: string;
  /** `short`: the name without the zone; `full`: all of it; `absolute`: all of it and a dot. */
  names: 'short' | 'full' | 'absolute';
  /** `quoted`: in strings of 255 characters, each in quotes. */
  texts: 'plain' | 'quoted';
  hint: string;
}

const SHORT = 'Enter the name without the domain: the form adds the domain. @ means the domain itself.';

/** The first is for everybody else. */
export const DNS_HOSTS: readonly [DnsHost, ...DnsHost[]] = [
  { name: 'Another DNS host', names: 'short', texts: 'plain', hint: `Most forms are like this. ${SHORT}` },
  {
    name: 'Form that takes full names',
    names: 'full',
    texts: 'plain',
    hint: 'Enter the whole name. If the form shows the domain twice afterwards, it wants names without it.',
  },
  {
    name: 'Amazon Route 53',
    names: 'short',
    texts: 'quoted',
    hint: 'Enter the name without the domain (empty for @), and texts in quotes: a long one as several quoted strings on one line.',
  },
  {
    name: 'Cloudflare',
    names: 'short',
    texts: 'plain',
    hint: `${SHORT} Set a CNAME to “DNS only”: behind the proxy it is not found.`,
  },
  { name: 'DigitalOcean', names: 'short', texts: 'plain', hint: SHORT },
  { name: 'Gandi', names: 'short', texts: 'plain', hint: SHORT },
  { name: 'GoDaddy', names: 'short', texts: 'plain', hint: SHORT },
  {
    name: 'Google Cloud DNS',
    names: 'short',
    texts: 'quoted',
    hint: 'Enter the name without the domain (empty for @), and texts in quotes: a long one as several quoted strings.',
  },
  { name: 'Hetzner', names: 'short', texts: 'plain', hint: SHORT },
  { name: 'IONOS', names: 'short', texts: 'plain', hint: SHORT },
  { name: 'Namecheap', names: 'short', texts: 'plain', hint: SHORT },
  { name: 'OVHcloud', names: 'short', texts: 'plain', hint: SHORT },
  {
    name: 'Zone file (BIND, Knot, NSD)',
    names: 'absolute',
    texts: 'quoted',
    hint: 'Names end with a dot. The zone file below has all records ready to paste.',
  },
];

/** The zones that a name may be in: itself and what is above it, at least two labels. */
export function zonesOf(domain: string): readonly string[] {
  const labels = domain.split('.');
  return Array.from({ length: Math.max(1, labels.length - 1) }, (_, from) => labels.slice(from).join('.'));
}

/** `host` as it is entered for `zone`; outside of the zone always in full. */
export function nameFor(host: string, zone: string, names: DnsHost['names']): string {
  if (names === 'absolute') return `${host}.`;
  if (names === 'full') return host;
  if (host === zone) return '@';
  return host.endsWith(`.${zone}`) ? host.slice(0, -zone.length - 1) : host;
}

const STRING = 255;

/** The strings that a text is stored as; our own are ASCII, so that characters are octets. */
export function stringsOf(text: string): readonly string[] {
  return Array.from({ length: Math.max(1, Math.ceil(text.length / STRING)) }, (_, n) =>
    text.slice(STRING * n, STRING * (n + 1)),
  );
}

/** A value as it is entered. */
export function valueFor(record: { Type: string; Value: string }, { names, texts }: DnsHost): string {
  const { Type, Value } = record;
  if (Type !== 'TXT') return names === 'absolute' ? `${Value}.` : Value;
  if (texts === 'plain') return Value;
  return stringsOf(Value)
    .map((text) => `"${text.replace(/["\\]/g, '\\$&')}"`)
    .join(' ');
}
