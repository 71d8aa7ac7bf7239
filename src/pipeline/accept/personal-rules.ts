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
} from '../../model/personal.ts';

/** What the decision depends on, for both kinds of submission. */
export interface PersonalFacts {
  fromDomain: string;
  lane: Lane;
  personal?: PersonalWish | null;
  /** Absent if the header was not read yet: the composer checks it then. */
  headers?: readonly (readonly [name: string, value: string])[];
}

export interface PersonalRules {
  /** null = none. */
  optionsFor(facts: PersonalFacts, settings: PersonalSettings | null): PersonalOptions | null;
}

const OWN_HEADER = /^list-unsubscribe(?:-post)?$/i;

export function createPersonalRules(options: {
  publicUrl: (() => string) | null;
  mailtoDomain: string | null;
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
      return {
        ...choice,
        base: host === null ? publicUrl() : `https://${host}`,
        host: host ?? '',
        mailtoDomain: options.mailtoDomain,
      };
    },
  };
}
