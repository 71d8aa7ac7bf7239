/**
 * What a simulated run has besides its sites: whether mail is signed, relays with their troubles and the routes that lead
 * there, TLS that works, a store that takes its time, and what people do to mail, keys and paths meanwhile. Drawn from
 * dice of its own, so that a world's sites and mail stay as they are. Pure.
 */
import type { RouteRule } from '../../src/config-routing.ts';
import type { Route } from '../../src/model/route.ts';
import type { SitePlan } from '../../src/simulation/far-end-connection.ts';
import type { Dice } from '../../src/simulation/seeded.ts';
import { TLS_TROUBLES, type Trouble, type TroubleKind } from '../../src/simulation/troubles.ts';
import type { Action, Timed } from './plan.ts';

/** Of relays. */
const RELAY_TROUBLES: readonly TroubleKind[] = [
  'login-refused',
  'login-refused',
  'refuses',
  'black-hole',
  'greets-554',
  'greets-421',
  'slow-down',
  'mute-after-dot',
  'drops-after-dot',
  'tarpits',
];

export interface Extras {
  /** Mail is signed by the keys of its sender domain; otherwise nothing is. */
  signs: boolean;
  /** Played as far ends whose one host is their address. */
  relays: readonly SitePlan[];
  targets: readonly Route[];
  rules: readonly RouteRule[];
  /** How long the store takes to answer at most (`answersOf`). */
  storeMs: number;
  /** Its sources have never sent before, and are warmed up. */
  newSources: boolean;
  /** Connections of all paths together; null = as many as usual. */
  maxConnectionsInAll: number | null;
}

export const PLAIN_EXTRAS: Extras = {
  ...{ signs: false, relays: [], rules: [], storeMs: 0, newSources: false },
  maxConnectionsInAll: null,
  targets: [{ kind: 'mx', pool: 'default' }],
};

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const DIRECT: Route = { kind: 'mx', pool: 'default' };
const PORT = 2525;

interface Scene {
  tenants: readonly string[];
  sites: readonly SitePlan[];
  loadUntilMs: number;
  /** Minutes that a trouble lasts. */
  lasts: readonly number[];
}

/**
 * How long each answer of the store takes. Where it may take seconds, each takes another time: later ones come first, and
 * some when their caller does not wait any more.
 */
export function answersOf(storeMs: number, dice: Dice): () => number {
  return storeMs < 1_000 ? () => storeMs : () => dice.ms(0, storeMs);
}

/** `sites` are given TLS, some of them. */
export function extrasOf(dice: Dice, scene: Scene): { extras: Extras; timed: Timed[]; sites: SitePlan[] } {
  const signs = dice.chance(0.5);
  const relays = dice.chance(0.35) ? relaysOf(dice, scene) : [];
  const storeMs = dice.chance(0.2) ? dice.pick([2, 10, 50, 2_000]) : 0;
  const someTls = dice.chance(0.2);
  const sites = scene.sites.map((site) => (someTls && dice.chance(0.6) ? withTls(dice, site, scene) : site));
  const routes = routesOf(dice, relays, scene.tenants);
  const timed = happenings(dice, scene, signs, relays.length);
  const newSources = dice.chance(0.15);
  const maxConnectionsInAll = dice.chance(0.2) ? dice.pick([2, 4, 12]) : null;
  return {
    extras: { signs, relays, storeMs, newSources, maxConnectionsInAll, ...routes },
    timed,
    sites,
  };
}

function relaysOf(dice: Dice, scene: Scene): SitePlan[] {
  return Array.from({ length: dice.whole(1, 2) }, (_, i) => {
    // The address of this machine: a login may go to it in the clear.
    const address = `127.0.1.${i + 1}`;
    return {
      ...{ name: `relay${i}`, provider: null, hosts: [{ name: address, address }] },
      latencyMs: dice.pick([1, 5, 20, 80]),
      dotMs: dice.chance(0.2) ? dice.pick([50, 500]) : 0,
      pipelining: dice.chance(0.85),
      troubles: dice.chance(0.3) ? [] : troublesOf(dice, RELAY_TROUBLES, scene),
      login: dice.chance(0.6),
    };
  });
}

function withTls(dice: Dice, site: SitePlan, scene: Scene): SitePlan {
  const troubles = dice.chance(0.4) ? [] : troublesOf(dice, TLS_TROUBLES, scene);
  return { ...site, tls: true, troubles: [...site.troubles, ...troubles] };
}

function troublesOf(dice: Dice, kinds: readonly TroubleKind[], { loadUntilMs, lasts }: Scene): Trouble[] {
  return Array.from({ length: dice.whole(1, 2) }, () => {
    const fromMs = dice.chance(0.4) ? 0 : dice.ms(0, loadUntilMs);
    return {
      kind: dice.pick(kinds),
      fromMs,
      untilMs: fromMs + dice.pick(lasts) * MINUTE,
      share: dice.pick([0.2, 0.5, 1, 1]),
      most: dice.whole(1, 6),
    };
  });
}

function routesOf(
  dice: Dice,
  relays: readonly SitePlan[],
  tenants: readonly string[],
): Pick<Extras, 'targets' | 'rules'> {
  const { targets, rules } = PLAIN_EXTRAS;
  const all = relays.map(targetOf);
  const [first] = all;
  if (first === undefined) return { targets, rules };
  const list = (): readonly Route[] => {
    const some = dice.chance(0.6) ? all : dice.chance(0.5) ? all.toReversed() : [first];
    return dice.chance(0.2) ? [...some, DIRECT] : some;
  };
  if (dice.chance(0.4)) return { targets: list(), rules };
  // Some senders go by relays, the others to the hosts themselves.
  const sender = dice.pick(tenants);
  const shown = `senders of ${sender}`;
  return {
    targets,
    rules: [
      {
        ...{ senderDomain: [sender], recipientDomain: null, priority: null, tag: null },
        targets: list(),
        shown,
      },
    ],
  };
}

function targetOf({ hosts, login }: SitePlan): Route {
  const auth = login === true ? { user: 'simulated', password: 'simulated' } : null;
  return { kind: 'relay', host: hosts[0]?.address ?? '', port: PORT, implicitTls: false, auth };
}

function happenings(dice: Dice, scene: Scene, signs: boolean, relays: number): Timed[] {
  const { tenants, loadUntilMs } = scene;
  const timed: Timed[] = [];
  const happens = (share: number, make: () => Action) => {
    while (dice.chance(share)) {
      timed.push({ atMs: dice.ms(SECOND, loadUntilMs + 10 * MINUTE), action: make() });
    }
  };
  // Where much waits, and while it does.
  const during = (share: number, make: () => Action) => {
    while (dice.chance(share)) timed.push({ atMs: dice.ms(0, loadUntilMs + 10 * SECOND), action: make() });
  };
  during(0.5, () => ({ kind: 'cancel', pick: dice.float() }));
  during(0.3, () => ({ kind: 'suppress-waiting', pick: dice.float() }));
  happens(0.2, () => ({
    kind: 'reschedule',
    pick: dice.float(),
    inMs: dice.ms(MINUTE / 2, 10 * MINUTE),
  }));
  happens(0.3, () => ({ kind: 'try-now' }));
  happens(0.15, () => ({ kind: 'end-overrides' }));
  if (relays > 0) happens(0.2, () => ({ kind: 'try-now' }));
  if (!signs) return timed;
  happens(0.5, () => ({ kind: 'rotate', tenant: dice.pick(tenants) }));
  while (dice.chance(0.2)) {
    const tenant = dice.pick(tenants);
    const atMs = dice.ms(SECOND, loadUntilMs + 2 * MINUTE);
    timed.push({ atMs, action: { kind: 'remove-domain', tenant } });
    if (dice.chance(0.7)) {
      const again = atMs + dice.ms(SECOND, 10 * MINUTE);
      timed.push({ atMs: again, action: { kind: 'add-domain', tenant } });
    }
  }
  return timed;
}
