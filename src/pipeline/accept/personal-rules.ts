/**
 * Which personal links a message gets: by the sender's wish, the domain's settings and the lane. Costs three
 * comparisons if there are none. The public URL is known once the listener is up.
 */
import type { Lane } from '../../model/message.ts';
import {
  type PersonalOptions,
  type PersonalSettings,
  type PersonalWish,
  personalChoice,
  reachOf,
} from '../../model/personal.ts';

/** What the decision depends on, for both kinds of submission. */
export interface PersonalFacts {
  fromDomain: string;
  lane: Lane;
  personal?: PersonalWish | null;
  /** Absent if the header was not read yet: the composer checks it then. */
  headers?: readonly (readonly [name: string, value: string])[];
}

interface PersonalRules {
  /** null = none. */
  optionsFor(facts: PersonalFacts, settings: PersonalSettings | null): PersonalOptions | null;
}

const OWN_HEADER = /^list-unsubscribe$/i;

export function createPersonalRules(options: {
  publicUrl: (() => string) | null;
  mailtoDomain: string | null;
  /** Mail is only tested: its links may lead to this machine, or be plain http. */
  testLinks: boolean;
}): PersonalRules {
  return {
    optionsFor(facts, settings) {
      const { publicUrl } = options;
      if (publicUrl === null) return null;
      const choice = personalChoice(facts.personal ?? null, settings, {
        lane: facts.lane,
        ownListUnsubscribe: facts.headers?.some(([name]) => OWN_HEADER.test(name)) ?? false,
      });
      if (choice === null) return null;
      const host = settings?.trackingHost ?? null;
      const base = host === null ? publicUrl() : `https://${host}`;
      const reach = options.testLinks ? 'one-click' : reachOf(base);
      // A link in the HTML that leads nowhere would be worse than none.
      const possible = reach === 'none' ? { ...choice, opens: false, clicks: false } : choice;
      if (!(possible.opens || possible.clicks || possible.unsubscribe)) return null;
      return {
        ...possible,
        ...{ base, reach },
        host: host ?? '',
        mailtoDomain: options.mailtoDomain,
      };
    },
  };
}
