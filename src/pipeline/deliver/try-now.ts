/**
 * "Try it now" for a path, a relay or a recipient domain: everything that makes it wait ends, and one message tests it.
 * Suspensions are removed, the pause ends, the relays of its route are tried again, and mail of the path with a later
 * due time becomes due. Holds of a person remain.
 */
import type { Logger } from '../../lib/log.ts';
import { isRelaySite } from '../../model/route.ts';
import type { OverrideBook } from '../../policy/limits/shaping/overrides.ts';
import type { Queue } from '../queue/queue.ts';
import type { PathStates } from './path/states.ts';
import { type RelayHealth, relayName } from './routing/relay-health.ts';
import type { Sites } from './routing/sites.ts';

export interface TryNow {
  /** Paths by name (`pathKey`). Returns how many were blocked and are tried now. */
  paths(names: Iterable<string>): Promise<number>;
  /**
   * Mail on those of these paths that lead to a relay, which its replies put off: it becomes due, because a relay is the
   * operator's own. Returns its recipients.
   */
  putOffByRelays(names: Iterable<string>): Promise<number>;
  /** A relay that is skipped, as `host:port`. Returns false if it is not. */
  relay(relay: string): boolean;
  /**
   * Mail to a domain that waits because of its path, also of one that was used before the start only: it becomes due.
   * Returns its recipients.
   */
  mailTo(recipientDomain: string): Promise<number>;
}

export function createTryNow(deps: {
  states: PathStates;
  overrides: Pick<OverrideBook, 'of' | 'remove' | 'onChange'>;
  sites: Pick<Sites, 'siteNamed'>;
  relays: Pick<RelayHealth, 'tryNow'>;
  queue: Pick<Queue, 'hurry' | 'gateChanged'>;
  /** Its connections accept nothing new, so that the next message opens one to the right host. */
  reconnect(name: string): void;
  /** It opens a connection, if it waits to because this machine could not; false if it does not. */
  connectNow(name: string): boolean;
  log: Logger;
}): TryNow {
  const { states, overrides, sites, relays, queue, log } = deps;
  const hurry = (name: string): void => {
    queue.hurry({ site: name }).catch((err: unknown) => {
      log.warn({ err, path: name }, 'mail that was told a later time keeps to it');
    });
  };

  overrides.onChange((override, removed) => {
    const { scope, key, param } = override;
    const blocked = states.blocked(key);
    states.overrideChanged(override, removed);
    if (removed || param === 'suspended') queue.gateChanged();
    // A person ended the suspension: mail that it deferred becomes due too.
    if (removed && scope === 'path' && blocked !== null && states.blocked(key) === null) hurry(key);
  });
  states.onOutdated((name) => {
    for (const { id, rule } of overrides.of('path', name)) {
      if (rule === 'operator') continue;
      overrides.remove(id).catch((err: unknown) => {
        log.warn({ err, path: name }, 'what was learned of another way to this site still counts');
      });
    }
  });

  return {
    async paths(names) {
      let tried = 0;
      for (const name of names) {
        const blocked = states.blocked(name);
        for (const { id, param } of overrides.of('path', name))
          if (param === 'suspended') await overrides.remove(id);
        states.tryNow(name);
        const site = sites.siteNamed(name);
        let passedOver = false;
        if (site?.kind === 'path')
          for (const target of site.egress.targets)
            if (target.kind === 'relay' && relays.tryNow(relayName(target))) passedOver = true;
        if (passedOver) deps.reconnect(name);
        if (states.blocked(name) !== null) continue;
        if (deps.connectNow(name) || blocked !== null || passedOver) tried += 1;
        hurry(name);
      }
      return tried;
    },
    async putOffByRelays(names) {
      let due = 0;
      for (const name of names) {
        const site = sites.siteNamed(name);
        if (site?.kind === 'path' && isRelaySite(site.site))
          due += await queue.hurry({ site: name, deferred: true });
      }
      return due;
    },
    relay: (relay) => relays.tryNow(relay),
    mailTo: (recipientDomain) => queue.hurry({ recipientDomain }),
  };
}
