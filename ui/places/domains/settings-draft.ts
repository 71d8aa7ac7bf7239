/** The settings of a domain as they are edited: what is typed, and the change that it comes to. Pure. */
import type { Domain } from '../../../src/client/api-types.ts';
import type { DomainSettings } from '../../api/domains.ts';

const FLAGS = ['Subdomains', 'RequireTls', 'AtMostOnce', 'ListUnsubscribe'] as const;
const HOSTS = ['ReturnPathHost', 'TrackingHost'] as const;
const TRACKED = ['Opens', 'Clicks'] as const;
const NUMBERS = {
  Retention: ['ContentDays', 'EventDays'],
  Quota: ['PerMinute', 'PerHour', 'PerDay'],
} as const;

/** By the JSON pointer of the field, as the API names it when it refuses: `/Quota/PerDay`. */
export interface Draft {
  flags: Readonly<Record<string, boolean>>;
  /** Numbers as they are typed; empty = as the server is set. */
  texts: Readonly<Record<string, string>>;
}

export function draftOf(domain: Domain): Draft {
  return {
    flags: Object.fromEntries([
      ...FLAGS.map((name) => [`/${name}`, domain[name]]),
      ...TRACKED.map((name) => [`/Tracking/${name}`, domain.Tracking[name]]),
    ]),
    texts: Object.fromEntries([
      ...HOSTS.map((name) => [`/${name}`, domain[name]]),
      ...NUMBERS.Retention.map((name) => [`/Retention/${name}`, String(domain.Retention[name] ?? '')]),
      ...NUMBERS.Quota.map((name) => [`/Quota/${name}`, String(domain.Quota[name] ?? '')]),
    ]),
  };
}

/** What differs from the domain; null = nothing. */
export function changeOf(draft: Draft, domain: Domain): DomainSettings | null {
  const before = draftOf(domain);
  const change: Record<string, unknown> = {};
  const put = (pointer: string, value: unknown): void => {
    const [group = '', member] = pointer.slice(1).split('/');
    if (member === undefined) change[group] = value;
    else change[group] = { ...(change[group] as object | undefined), [member]: value };
  };
  for (const [pointer, value] of Object.entries(draft.flags))
    if (value !== before.flags[pointer]) put(pointer, value);
  for (const [pointer, typed] of Object.entries(draft.texts)) {
    const text = typed.trim();
    if (text === before.texts[pointer]) continue;
    put(pointer, HOSTS.some((name) => pointer === `/${name}`) ? text : numberOf(text));
  }
  return Object.keys(change).length === 0 ? null : change;
}

/** What is no number is sent as it is typed: the server says what is wrong with it. */
function numberOf(text: string): number | string | null {
  if (text === '') return null;
  return /^\d{1,12}$/.test(text) ? Number(text) : text;
}
