/**
 * What replies change for one sender domain only (column `sender` of effects.ts): if a provider repeatedly refuses its
 * mail for authentication reasons, the mail is paused there while its records are checked; links on a blocklist hold
 * the domain's bulk mail; a provider that complains about the domain gets its mail more slowly. Only replies of the far
 * end count. Replies about the operator's own addresses are logged, in the words of the far end: a page that they name may
 * be anybody's.
 */

import { BoundedMap } from '../../../lib/bounded-map.ts';
import type { Clock } from '../../../lib/clock.ts';
import { type Logger, maskAddresses } from '../../../lib/log.ts';
import { zoneOf } from '../../../net/dns-name.ts';
import { createThreshold } from '../../../policy/limits/shaping/threshold.ts';
import {
  domainKey,
  type OverrideNote,
  type Overrides,
  senderKey,
} from '../../../policy/limits/shaping/types.ts';
import type { Category } from './classifier/categories.ts';
import { effectsOf } from './effects.ts';
import type { Outcome } from './outcome.ts';

export interface SenderEffects {
  /** An attempt ended with a reply; without one, nothing changes. */
  onOutcome(
    path: { source: string; site: string; provider: string | null },
    senderDomain: string,
    outcome: Outcome,
  ): void;
}

interface Deps {
  clock: Clock;
  log: Logger;
  overrides: Pick<Overrides, 'note'>;
  /** A site refuses a sender domain's mail for authentication reasons: informs those who can correct it. */
  authFailing(senderDomain: string, site: string): void;
  /** Holds a sender domain's bulk mail. */
  holdBulk(senderDomain: string, reason: string): void;
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const AUTH_PAUSE_MS = HOUR;
const SLOWED_MS = 30 * MINUTE;
/** Ten per minute. */
const SLOWED_RATE = 1 / 6;
/** The operator is told once in this time for each kind, source and site. */
const ALERT_EVERY_MS = HOUR;
const MAX_ALERTS = 10_000;

export function createSenderEffects({ clock, log, overrides, authFailing, holdBulk }: Deps): SenderEffects {
  const authFailures = createThreshold({ times: 3, withinMs: 10 * MINUTE });
  const listings = createThreshold({ times: 3, withinMs: HOUR });
  const complaints = createThreshold({ times: 2, withinMs: HOUR });
  const alerted = new BoundedMap<string, number>(MAX_ALERTS);

  return {
    onOutcome(path, senderDomain, outcome) {
      if (!('verdict' in outcome) || outcome.verdict === null) return;
      const { verdict, reply, detail } = outcome;
      if (reply === null || reply.code === 0) return;
      const nowMs = clock.monotonicMs();
      const { source, site, provider } = path;
      const key = `${senderDomain} ${provider ?? site}`;
      const why = maskAddresses(detail).slice(0, 512);
      const { sender, alert: tells } = effectsOf(verdict.category);
      if (tells) alert(verdict.category, source, site, detail);
      if (sender === 'paused') {
        if (!authFailures.happened(key, nowMs)) return;
        overrides.note({ ...note(senderDomain, path, AUTH_PAUSE_MS, verdict.category, why), ...PAUSED });
        log.warn(
          { senderDomain, site: provider ?? site, why },
          'mail of a sender domain is paused at a site',
        );
        authFailing(senderDomain, provider ?? site);
      } else if (sender === 'bulk-held') {
        // One receiver may be wrong about a list, or wish to do harm: it counts once, whatever names it has below its own. A
        // relay is the operator's own.
        const from = outcome.facts.route === 'relay' ? undefined : (provider ?? zoneOfSite(site));
        if (listings.happened(senderDomain, nowMs, from)) holdBulk(senderDomain, why);
      } else if (sender === 'slowed' && verdict.scope === 'sender_domain') {
        if (!complaints.happened(key, nowMs)) return;
        const slowed = { param: 'messagesPerSecond', value: SLOWED_RATE } as const;
        overrides.note({ ...note(senderDomain, path, SLOWED_MS, verdict.category, why), ...slowed });
      }
    },
  };

  function alert(category: Category, source: string, site: string, detail: string): void {
    const key = `${category} ${source} ${site}`;
    const nowMs = clock.monotonicMs();
    if (nowMs - (alerted.get(key) ?? Number.NEGATIVE_INFINITY) < ALERT_EVERY_MS) return;
    alerted.set(key, nowMs);
    const reply = maskAddresses(detail).slice(0, 512);
    log.error({ alert: category, source, site, reply }, 'operator_alert');
  }

  function note(
    senderDomain: string,
    { site, provider }: { site: string; provider: string | null },
    forMs: number,
    rule: string,
    why: string,
  ): Omit<OverrideNote, 'param' | 'value'> {
    const where =
      provider === null
        ? ({ scope: 'tenant@site', key: senderKey(senderDomain, site) } as const)
        : ({ scope: 'domain@provider', key: domainKey(senderDomain, provider) } as const);
    return { ...where, until: clock.now() + forMs, rule, why };
  }
}

const PAUSED = { param: 'suspended', value: 'yes' } as const;

/** Of its first host, which stands before what a name may have more: other hosts, relays. */
function zoneOfSite(site: string): string {
  return zoneOf(site.split(/[+|]/, 1)[0] ?? site);
}
