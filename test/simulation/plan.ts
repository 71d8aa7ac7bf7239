/**
 * What happens in one simulated run, worked out from its seed before it begins: sites with their troubles, the
 * operator's limits, mail by lane and sender over time, what operators do, when processes die, the store fails or
 * somebody turns the clock. Pure.
 */
import { SHARED_FROM_BYTES } from '../../src/model/delivery.ts';
import type { Lane } from '../../src/model/message.ts';
import type { PathLimits } from '../../src/policy/limits/shaping/types.ts';
import type { SitePlan } from '../../src/simulation/far-end-connection.ts';
import type { Source } from '../../src/simulation/process.ts';
import { createDice, type Dice } from '../../src/simulation/seeded.ts';
import type { Trouble, TroubleKind } from '../../src/simulation/troubles.ts';
import { type Extras, extrasOf } from './plan-extras.ts';

const TROUBLES: readonly TroubleKind[] = [
  'refuses',
  'black-hole',
  'greets-554',
  'greets-421',
  'mute',
  'few-connections',
  'tls-refused',
  'tls-reset',
  'few-messages',
  'slow-down',
  'blocklisted',
  'greylists',
  'unknown-users',
  'full-mailboxes',
  'lookup-failures',
  'drops-in-data',
  'drops-after-dot',
  'mute-after-dot',
  'dislikes-content',
  'tarpits',
];

/** Of sites that offer CHUNKING. */
const BDAT_TROUBLES: readonly TroubleKind[] = [
  'bdat-refused',
  'bdat-twice',
  'bdat-unanswered',
  'drops-after-dot',
  'drops-after-dot',
  'mute-after-dot',
  'few-messages',
];

export type Action =
  | {
      kind: 'send';
      tenant: string;
      lane: Lane;
      recipients: readonly string[];
      /** Null = by the lane's age. */
      expiresInMs: number | null;
      sendInMs: number | null;
      octets: number;
    }
  | { kind: 'cancel'; pick: number }
  | { kind: 'reschedule'; pick: number; inMs: number }
  /** Somebody whose mail waits in memory. */
  | { kind: 'suppress-waiting'; pick: number }
  /** Every path and relay is to be tried at once. */
  | { kind: 'try-now' }
  /** Ends what operators set. */
  | { kind: 'end-overrides' }
  /** Of the keys of a sender domain. */
  | { kind: 'rotate' | 'remove-domain' | 'add-domain'; tenant: string }
  | { kind: 'hold'; tenant: string | null; domain: string | null; lane: Lane | null; forMs: number }
  /** Ends every hold. */
  | { kind: 'release' }
  | { kind: 'suppress'; tenant: string; address: string }
  | {
      kind: 'override';
      site: number;
      param: 'connections' | 'messagesPerSecond' | 'suspended';
      forMs: number;
    }
  | { kind: 'crash'; downMs: number }
  /** Dies when so many more 250s have been read. */
  | { kind: 'crash-after'; replies: number }
  | { kind: 'restart'; downMs: number; deadlineMs: number }
  | { kind: 'outage'; forMs: number; as: 'full' | 'io' }
  | { kind: 'jump'; byMs: number }
  | { kind: 'move'; domain: string; toSite: number }
  | { kind: 'dns'; domain: string; fault: 'servfail' | 'nxdomain'; forMs: number };

export interface Timed {
  atMs: number;
  action: Action;
}

export interface Plan {
  seed: number;
  sites: SitePlan[];
  domains: { name: string; site: number }[];
  /** shaping.json of the operator. */
  shaping: { id: string; mx?: string[]; oneSite?: boolean; limits: Partial<PathLimits> }[];
  sources: readonly Source[];
  windowRows: number;
  /** How often the store is asked for what no hint told of, and for what has no time left. */
  lookAheadMs: number;
  /** Of what DNS says. */
  ttlSeconds: number;
  /** In order of time. */
  timeline: readonly Timed[];
  loadUntilMs: number;
  tenants: readonly string[];
  extras: Extras;
}

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** How much happens in a world. */
interface Size {
  /** Minutes during which mail comes. */
  load: readonly number[];
  sites: readonly [number, number];
  tenants: number;
  messages: readonly [number, number];
  /** Most recipients of a newsletter, and of an ordinary message. */
  bulk: number;
  normal: number;
  /** Minutes until mail is given up. */
  life: readonly number[];
  /** Minutes a trouble lasts. */
  trouble: readonly number[];
}

/** Most worlds are small: what breaks, breaks between few things, and many are played in the time of one large. */
const SMALL: Size = {
  load: [0.5, 1, 2, 4],
  sites: [1, 4],
  tenants: 2,
  messages: [3, 10],
  bulk: 8,
  normal: 3,
  life: [1, 2, 5, 10],
  trouble: [0.2, 0.5, 2, 8],
};

/** For `--large`, and one seed in a hundred. */
export const LARGE: Size = {
  load: [2, 5, 10, 20, 40],
  sites: [2, 8],
  tenants: 4,
  messages: [8, 60],
  bulk: 25,
  normal: 4,
  life: [2, 5, 15, 30, 60, 120],
  trouble: [0.5, 2, 10, 30, 90],
};

const LARGE_EVERY = 100;

/** One seed in a hundred makes a large world. */
export function sizeOf(seed: number): Size {
  return seed % LARGE_EVERY === 0 ? LARGE : SMALL;
}

export function planOf(seed: number, size: Size = sizeOf(seed)): Plan {
  const dice = createDice(seed, 1);
  const loadUntilMs = dice.pick(size.load) * MINUTE;
  const providers = dice.whole(0, 2);
  const sites = Array.from({ length: dice.whole(...size.sites) }, (_, i) =>
    siteOf(dice, i, providers, size, loadUntilMs),
  );
  const domains = sites.flatMap((site, i) =>
    Array.from({ length: dice.chance(0.3) ? 3 : 1 }, (_, j) => ({
      name: `d${j}.${site.name}.test`,
      site: i,
    })),
  );
  const tenants = Array.from({ length: dice.whole(1, size.tenants) }, (_, i) => `sender${i}.test`);
  const more = extrasOf(createDice(seed, 3), { tenants, sites, loadUntilMs, lasts: size.trouble });
  const far = chunkingOf(createDice(seed, 5), more, { tenants, domains, loadUntilMs, lasts: size.trouble });
  const scene = { loadUntilMs, tenants, domains: domains.map(({ name }) => name) };
  const together = togetherOf(createDice(seed, 6), far.sites, scene, size);
  const timeline = [
    ...far.timed,
    ...together.timed,
    ...more.timed,
    ...mail(dice, size, scene),
    ...happenings(dice, { ...scene, sites: sites.length }),
  ].sort((a, b) => a.atMs - b.atMs);
  return {
    seed,
    ...{ sites: together.sites, extras: { ...more.extras, relays: far.relays }, tenants },
    domains,
    shaping: withFastLimits(limitsOf(dice, providers), far.fast),
    sources: dice.chance(0.3)
      ? [
          { id: 'out1', address: '20.0.0.1' },
          { id: 'out2', address: '20.0.0.2' },
        ]
      : [{ id: 'out1', address: '20.0.0.1' }],
    windowRows: dice.chance(0.3) ? dice.whole(16, 128) : 4096,
    lookAheadMs: dice.pick([10, 60, 60, 60, 120, 120, 120, 120]) * SECOND,
    ttlSeconds: dice.pick([5, 60, 300, 300]),
    timeline,
    loadUntilMs,
  };
}

function siteOf(dice: Dice, index: number, providers: number, size: Size, loadUntilMs: number): SitePlan {
  const provider = providers > 0 && dice.chance(0.5) ? dice.whole(1, providers) : null;
  const name = `site${index}`;
  const suffix = provider === null ? `${name}.net` : `big${provider}.net`;
  const hosts = Array.from({ length: dice.chance(0.3) ? 2 : 1 }, (_, i) => ({
    name: `mx${i}-${name}.${suffix}`,
    address: `20.1.${index}.${i + 1}`,
  }));
  return {
    name,
    provider: provider === null ? null : `big${provider}`,
    hosts,
    latencyMs: dice.pick([1, 5, 20, 80, 200]),
    dotMs: dice.chance(0.2) ? dice.pick([50, 500, 5_000]) : 0,
    pipelining: dice.chance(0.85),
    troubles: dice.chance(0.35) ? [] : troublesOf(dice, size, loadUntilMs),
  };
}

/** Some sites and relays take messages by BDAT, and get so much mail that several messages are in flight. */
function chunkingOf(
  dice: Dice,
  { sites, extras }: { sites: readonly SitePlan[]; extras: Extras },
  scene: {
    tenants: readonly string[];
    domains: readonly { name: string; site: number }[];
    loadUntilMs: number;
    lasts: readonly number[];
  },
): { sites: SitePlan[]; relays: SitePlan[]; timed: Timed[]; fast: number | null } {
  const timed: Timed[] = [];
  let user = 0;
  const some = (site: SitePlan, domains: readonly { name: string }[]): SitePlan => {
    // What a far end under TLS did not read cannot be counted.
    if (!site.pipelining || site.tls === true || !dice.chance(0.5)) return site;
    const troubles = [...site.troubles];
    if (dice.chance(0.5)) {
      const fromMs = dice.ms(0, scene.loadUntilMs);
      troubles.push({
        kind: dice.pick(BDAT_TROUBLES),
        fromMs,
        untilMs: fromMs + dice.pick(scene.lasts) * MINUTE,
        share: dice.pick([0.05, 0.2, 0.5]),
        most: dice.whole(1, 30),
      });
    }
    for (let n = dice.whole(0, 2); n > 0; n--)
      timed.push({
        atMs: dice.ms(0, scene.loadUntilMs),
        action: {
          kind: 'send',
          tenant: dice.pick(scene.tenants),
          lane: dice.pick(['normal', 'bulk', 'bulk'] as const),
          recipients: Array.from(
            { length: dice.whole(20, 80) },
            () => `far${user++}@${dice.pick(domains).name}`,
          ),
          expiresInMs: 20 * MINUTE,
          sendInMs: null,
          octets: dice.whole(100, 4_000),
        },
      });
    const latencyMs = Math.max(site.latencyMs, dice.pick([1, 20, 80, 200]));
    return { ...site, chunking: true, latencyMs, troubles };
  };
  return {
    sites: sites.map((site, i) =>
      some(
        site,
        scene.domains.filter((domain) => domain.site === i),
      ),
    ),
    relays: extras.relays.map((relay) => some(relay, scene.domains)),
    timed,
    fast: dice.chance(0.5) ? dice.whole(1, 6) : null,
  };
}

/** Some large mail, whose copies go together, and sites that take only so many recipients at once. */
function togetherOf(
  dice: Dice,
  sites: readonly SitePlan[],
  { loadUntilMs, tenants, domains }: Scene,
  size: Size,
): { sites: SitePlan[]; timed: Timed[] } {
  if (!dice.chance(0.3)) return { sites: [...sites], timed: [] };
  let user = 0;
  const timed = Array.from({ length: dice.whole(1, 3) }, (): Timed => {
    const few = Array.from({ length: dice.whole(1, 2) }, () => dice.pick(domains));
    const recipients = Array.from({ length: dice.whole(2, 30) }, () => `large${user++}@${dice.pick(few)}`);
    return {
      atMs: dice.chance(0.2) ? 0 : dice.ms(0, loadUntilMs),
      action: {
        kind: 'send',
        ...{ tenant: dice.pick(tenants), lane: dice.pick(['normal', 'bulk'] as const), recipients },
        expiresInMs: dice.pick(size.life) * MINUTE + dice.whole(0, 59) * SECOND,
        sendInMs: dice.chance(0.07) ? dice.ms(MINUTE / 2, 20 * MINUTE) : null,
        octets: SHARED_FROM_BYTES + dice.whole(1, 100_000),
      },
    };
  });
  const some = (site: SitePlan): SitePlan => {
    if (!dice.chance(0.3)) return site;
    const fromMs = dice.chance(0.4) ? 0 : dice.ms(0, loadUntilMs);
    const untilMs = fromMs + dice.pick(size.trouble) * MINUTE;
    const few: Trouble = { kind: 'few-recipients', fromMs, untilMs, share: 1, most: dice.whole(1, 12) };
    return { ...site, troubles: [...site.troubles, few] };
  };
  return { sites: sites.map(some), timed };
}

/** So few connections and so fast that messages are in flight, where the operator set no other limits. */
function withFastLimits(rows: Plan['shaping'], connections: number | null): Plan['shaping'] {
  if (connections === null || rows.some(({ id }) => id === 'default')) return rows;
  return [
    { id: 'default', limits: { connections, messagesPerSecond: null, transactionsInFlight: 16 } },
    ...rows,
  ];
}

function troublesOf(dice: Dice, size: Size, loadUntilMs: number): Trouble[] {
  return Array.from({ length: dice.whole(1, 3) }, () => {
    const fromMs = dice.chance(0.4) ? 0 : dice.ms(0, loadUntilMs);
    const lasts = dice.pick(size.trouble) * MINUTE;
    return {
      kind: dice.pick(TROUBLES),
      fromMs,
      untilMs: fromMs + lasts,
      share: dice.pick([0.05, 0.2, 0.5, 1]),
      most: dice.whole(1, 6),
    };
  });
}

function limitsOf(dice: Dice, providers: number): Plan['shaping'] {
  const some = (): Partial<PathLimits> => ({
    connections: dice.whole(1, 10),
    messagesPerConnection: dice.pick([1, 3, 10, 100]),
    newConnectionsPerMinute: dice.pick([6, 30, 100]),
    messagesPerSecond: dice.pick([0.5, 2, 10, 100]),
  });
  const rows: Plan['shaping'] = dice.chance(0.6) ? [{ id: 'default', limits: some() }] : [];
  for (let i = 1; i <= providers; i++) {
    const limits = some();
    rows.push({
      id: `big${i}`,
      mx: [`.big${i}.net`],
      oneSite: dice.chance(0.5),
      limits: {
        ...limits,
        providerConnections: dice.whole(1, 6),
        ...(dice.chance(0.1) ? { tls: 'required' as const } : {}),
      },
    });
  }
  return rows;
}

interface Scene {
  loadUntilMs: number;
  tenants: readonly string[];
  domains: readonly string[];
}

function mail(dice: Dice, size: Size, { loadUntilMs, tenants, domains }: Scene): Timed[] {
  const timed: Timed[] = [];
  let user = 0;
  const messages = dice.whole(...size.messages);
  for (let i = 0; i < messages; i++) {
    const lane = dice.pick(['critical', 'normal', 'normal', 'bulk', 'bulk'] as const);
    const count =
      lane === 'critical' ? 1 : lane === 'normal' ? dice.whole(1, size.normal) : dice.whole(1, size.bulk);
    const home = dice.pick(domains);
    const recipients = new Set<string>();
    while (recipients.size < count) {
      const domain = dice.chance(0.5) ? home : dice.pick(domains);
      // Some people get mail again and again, so that what is learned of them shows.
      recipients.add(dice.chance(0.1) ? `again${dice.whole(1, 30)}@${domain}` : `u${user++}@${domain}`);
    }
    timed.push({
      atMs: dice.chance(0.2) ? 0 : dice.ms(0, loadUntilMs),
      action: {
        kind: 'send',
        tenant: dice.pick(tenants),
        lane,
        recipients: [...recipients],
        expiresInMs: dice.pick(size.life) * MINUTE + dice.whole(0, 59) * SECOND,
        sendInMs: dice.chance(0.07) ? dice.ms(MINUTE / 2, 20 * MINUTE) : null,
        octets: dice.chance(0.05) ? dice.whole(50_000, 200_000) : dice.whole(100, 4_000),
      },
    });
  }
  return timed;
}

function happenings(dice: Dice, scene: Scene & { sites: number }): Timed[] {
  const { loadUntilMs, tenants, domains } = scene;
  const timed: Timed[] = [];
  const happens = (share: number, make: () => Action) => {
    while (dice.chance(share)) {
      timed.push({ atMs: dice.ms(SECOND, loadUntilMs + 10 * MINUTE), action: make() });
    }
  };
  happens(0.4, () => ({ kind: 'cancel', pick: dice.float() }));
  happens(0.25, () => ({
    kind: 'hold',
    tenant: dice.chance(0.5) ? dice.pick(tenants) : null,
    domain: dice.chance(0.3) ? dice.pick(domains) : null,
    lane: dice.chance(0.3) ? dice.pick(['critical', 'normal', 'bulk'] as const) : null,
    forMs: dice.ms(10 * SECOND, 20 * MINUTE),
  }));
  happens(0.15, () => ({ kind: 'release' }));
  happens(0.25, () => ({
    kind: 'suppress',
    tenant: dice.pick(tenants),
    address: `again${dice.whole(1, 30)}@${dice.pick(domains)}`,
  }));
  happens(0.25, () => ({
    kind: 'override',
    site: dice.whole(0, scene.sites - 1),
    param: dice.pick(['connections', 'messagesPerSecond', 'suspended'] as const),
    forMs: dice.ms(10 * SECOND, 20 * MINUTE),
  }));
  happens(0.25, () => ({ kind: 'crash', downMs: dice.ms(SECOND, MINUTE) }));
  happens(0.2, () => ({ kind: 'crash-after', replies: dice.whole(1, 20) }));
  happens(0.2, () => ({
    kind: 'restart',
    downMs: dice.ms(SECOND, MINUTE),
    deadlineMs: dice.pick([1, 10, 30]) * SECOND,
  }));
  happens(0.2, () => ({
    kind: 'outage',
    forMs: dice.ms(SECOND, 5 * MINUTE),
    as: dice.pick(['full', 'io'] as const),
  }));
  happens(0.15, () => ({ kind: 'jump', byMs: dice.pick([-HOUR, HOUR, -5 * MINUTE, 5 * MINUTE]) }));
  happens(0.15, () => ({ kind: 'move', domain: dice.pick(domains), toSite: dice.whole(0, scene.sites - 1) }));
  happens(0.3, () => ({
    kind: 'dns',
    domain: dice.chance(0.3) ? '*' : dice.pick(domains),
    fault: dice.chance(0.75) ? 'servfail' : 'nxdomain',
    forMs: dice.ms(SECOND, 15 * MINUTE),
  }));
  return timed;
}
