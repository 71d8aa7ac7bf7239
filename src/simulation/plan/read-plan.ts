/**
 * Reads a plan file. Takes its text and, if requested, the operator's own configuration; returns the plan, or every
 * mistake as one sentence with its position in the file, the value and the correction.
 */
import { parseDuration } from '../../config/forms.ts';
import { type Routing, readRouting } from '../../config-routing.ts';
import { closest, editDistance } from '../../lib/closest.ts';
import { readJson } from '../../lib/json-lines.ts';
import { LANES } from '../../model/message.ts';
import { allTargets, type Route } from '../../model/route.ts';
import { readOperatorRows, shippedShaping } from '../../policy/limits/shaping/shaping.ts';
import type { ShapingRow } from '../../policy/limits/shaping/shaping-file.ts';
import { createFields, type Fields } from './fields.ts';
import {
  type EngineKeys,
  FAULTS,
  type FarEndHabits,
  type Fault,
  type FaultName,
  OTHER,
  type PlannedMail,
  type PlannedSource,
  type SimulationPlan,
} from './plan.ts';

/** The operator's own configuration, for plans that are simulated with it. */
export interface OwnConfig {
  targets: readonly Route[];
  routing: Routing;
  /** Of shaping.json, checked. */
  limits: readonly ShapingRow[];
  keys: EngineKeys;
  /** Midnight UTC of today: the first day of a plan that names none. */
  startAt: number;
}

type PlanFile = { kind: 'plan'; plan: SimulationPlan } | { kind: 'refused'; problems: readonly string[] };

const DAY_MS = 86_400_000;
const MOST_DAYS = 90;
const MOST_NODES = 16;
const MOST_A_DAY = 100_000_000;
const MOST_DOMAINS = 2_000;
const FEW_DOMAINS = 100;
/** A name with at most this many wrong letters gets a suggestion. */
const MOST_SLIPS = 2;
const USUAL_BYTES = 20_000;
const USUAL_START = Date.UTC(2027, 0, 4);
const NO_KEYS: EngineKeys = {
  maxConnections: null,
  transactionsInFlight: null,
  retry: null,
  maxAgeMs: null,
  queueLimit: null,
};

/** `file`: its name in problems. `own` null: sources and routes are those of the plan. */
export function readPlan(text: string, file: string, own: OwnConfig | null): PlanFile {
  const json = readJson(text);
  if (!json.ok) return refused([`${file}: ${json.message}`]);
  const problems: string[] = [];
  const say = (where: string, message: string) => void problems.push(`${file}: ${where}: ${message}`);
  for (const pointer of json.lines.duplicates)
    problems.push(`${file}: line ${json.lines.lineOf(pointer)}: a key stands twice in one object; keep one`);
  const top = createFields(json.value, '', say);
  if (top === null) return refused([`${file}: must hold one JSON object; \`simulate --example\` prints one`]);

  const startAt = top.date('start') ?? own?.startAt ?? USUAL_START;
  const days = top.whole('days', 1, MOST_DAYS) ?? 1;
  const nodes = top.whole('nodes', 1, MOST_NODES) ?? 1;
  const messageBytes = top.whole('messageBytes', 200, 30_000_000) ?? USUAL_BYTES;
  const limits = readLimits(top.raw('limits'));
  const providers = providersOf([...(own?.limits ?? []), ...limits]);
  const routing = own === null ? routingOf() : routingOfOwn(own);
  const relays = relaysOf(routing);
  const mail = top.list('mail', readMail);
  if (
    top.raw('mail') === undefined ||
    (Array.isArray(top.raw('mail')) && mail.length + problems.length === 0)
  )
    say(
      'mail',
      'is missing; name at least one kind of mail, e.g. {"provider": "google", "recipients": 20000}',
    );
  const farEnds = new Map<string, Partial<FarEndHabits>>();
  for (const { name, habits } of top.list('farEnds', readFarEnd)) farEnds.set(name, habits);
  const faults = top.list('faults', readFault);
  top.done();
  if (problems.length > 0) return refused(problems);
  return {
    kind: 'plan',
    plan: {
      ...{ startAt, days, nodes, messageBytes, mail, farEnds, faults },
      targets: routing.targets,
      rules: routing.rules,
      sources: routing.sources,
      limits: mergedRows(own?.limits ?? [], limits),
      keys: own?.keys ?? NO_KEYS,
    },
  };

  function readMail(fields: Fields): PlannedMail {
    const provider = fields.text('provider', knownProvider, providerFix) ?? OTHER;
    const isOneSite = provider !== OTHER && (providers.get(provider)?.oneSite ?? true);
    const { fromMs, untilMs } = fields.hours();
    const mail = {
      provider,
      recipients: fields.whole('recipients', 1, MOST_A_DAY, true) ?? 1,
      lane: fields.oneOf('lane', LANES) ?? 'bulk',
      sender:
        fields.text('sender', isDomain, 'a lower-case domain, e.g. "example.com"', false) ?? 'example.com',
      domains: fields.whole('domains', 1, MOST_DOMAINS) ?? (isOneSite ? 1 : FEW_DOMAINS),
      ...{ fromMs, untilMs },
      days: fields.wholes('days', 1, days),
    };
    fields.done();
    return mail;
  }

  function readFarEnd(fields: Fields): { name: string; habits: Partial<FarEndHabits> } {
    const name = fields.text('name', knownFarEnd, farEndFix) ?? '';
    const roundTripMs = fields.whole('roundTripMs', 0, 10_000);
    const answerMs = fields.whole('answerMs', 0, 60_000);
    const chunking = fields.flag('chunking');
    fields.done();
    return {
      name,
      habits: {
        ...(roundTripMs === null ? {} : { roundTripMs }),
        ...(answerMs === null ? {} : { answerMs }),
        ...(chunking === null ? {} : { chunking }),
      },
    };
  }

  function readFault(fields: Fields): Fault {
    const at = fields.text('at', (name) => name === '*' || knownFarEnd(name), farEndFix) ?? '*';
    const what = fields.oneOf('what', Object.keys(FAULTS) as FaultName[], true) ?? 'defers';
    const { needs, share: mayShare } = FAULTS[what];
    const fromMs = fields.startMs();
    const forMs = fields.text('for', (text) => parseDuration(text) !== null, 'a time, e.g. "2h" or "30m"');
    const day = fields.whole('day', 1, MOST_DAYS) ?? 1;
    const share = mayShare ? (fields.number('share', 0, 1) ?? 1) : 1;
    const most =
      needs === null ? 0 : (fields.number(needs, needs === 'seconds' ? 0.1 : 1, 100_000, true) ?? 1);
    fields.done();
    const startMs = (day - 1) * DAY_MS + fromMs;
    return { at, what, fromMs: startMs, untilMs: startMs + (parseDuration(forMs ?? '1h') ?? 0), share, most };
  }

  function readLimits(value: unknown): readonly ShapingRow[] {
    if (value === undefined) return [];
    const read = readOperatorRows(JSON.stringify(value), 'limits', null);
    if (read.kind === 'rows') return read.rows;
    for (const problem of read.problems) say('limits', problem.replace(/^limits: line \d+: /, ''));
    return [];
  }

  /** The plan's own sources and routes, in the form of postrider.json. */
  function routingOf(): { targets: readonly Route[]; rules: Routing['routes']; sources: PlannedSource[] } {
    const planned = top?.list('sources', (fields) => {
      const ageDays = fields.whole('age', 0, 10_000);
      const node = fields.whole('node', 1, nodes);
      return { ageDays, node, rest: fields.rest() };
    });
    const targets = top?.route('route') ?? [{ kind: 'mx' } as const];
    const found: string[] = [];
    const { sources, routes } = readRouting(
      { sources: planned?.map(({ rest }) => rest), routes: top?.raw('routes') },
      targets,
      found,
    );
    for (const problem of found) problems.push(problem.replace(/^postrider\.json: /, `${file}: `));
    return {
      targets,
      rules: routes,
      sources: sources.map(({ id, address, ipv6, pool }, i) => ({
        ...{ id, address: address ?? standIn(i), ipv6, pool },
        ageDays: planned?.[i]?.ageDays ?? null,
        node: planned?.[i]?.node ?? (i % nodes) + 1,
      })),
    };
  }

  function routingOfOwn({ targets, routing: { sources, routes } }: OwnConfig) {
    for (const name of ['sources', 'route', 'routes'])
      if (top?.raw(name) !== undefined)
        say(name, 'with --config this comes from postrider.json; leave it out of the plan');
    if (targets.length > 0 && targets.every(({ kind }) => kind === 'sandbox') && routes.length === 0)
      say(
        'mail',
        'by postrider.json all mail stays in the sandbox (key route), so there is nothing to simulate',
      );
    const names = [...new Set(sources.flatMap(({ node }) => node ?? []))];
    const age = (since: number) => Math.max(0, Math.floor((startAt - since) / DAY_MS));
    return {
      targets,
      rules: routes,
      sources: sources.map(({ id, address, ipv6, pool, newSince, node }, i) => ({
        ...{ id, address: address ?? standIn(i), ipv6, pool },
        node: ((node === null ? i : names.indexOf(node)) % nodes) + 1,
        ageDays: newSince === null ? null : age(newSince),
      })),
    };
  }

  function knownProvider(name: string): boolean {
    return name === OTHER || providers.has(name);
  }

  function knownFarEnd(name: string): boolean {
    return knownProvider(name) || relays.includes(name);
  }

  function providerFix(name: string): string {
    return unknownName(name, 'provider', [...providers.keys(), OTHER]);
  }

  function farEndFix(name: string): string {
    return unknownName(name, 'provider or relay', [...relays, ...providers.keys(), OTHER]);
  }
}

/** Of a network that is kept for tests (RFC 2544). */
function standIn(source: number): string {
  return `198.18.${source >> 8}.${source & 255}`;
}

/** Rows of shaping data with hosts of their own, by id: the shipped rows and the operator's. */
export function providersOf(limits: readonly ShapingRow[]): ReadonlyMap<string, ShapingRow> {
  const rows = mergedRows(shippedShaping(), limits);
  return new Map(
    rows.flatMap((row) => ((row.mx ?? row.domains) === undefined ? [] : [[row.id, row] as const])),
  );
}

/** `host:port` of every relay. */
export function relaysOf({ targets, rules }: Pick<SimulationPlan, 'targets' | 'rules'>): readonly string[] {
  const all = allTargets(targets, rules);
  return [
    ...new Set(all.flatMap((route) => (route.kind === 'relay' ? [`${route.host}:${route.port}`] : []))),
  ];
}

/** What is wrong with a name; '' = it is missing. */
function unknownName(name: string, what: string, known: readonly string[]): string {
  const near = closest(name, known);
  const meant = editDistance(name, near) <= MOST_SLIPS ? ` (did you mean ${near}?)` : '';
  return `${name === '' ? '' : `no such ${what}${meant}; `}known are ${known.join(', ')}`;
}

/** Rows of the plan merged with those of the operator, limit by limit; the plan's limits replace the operator's. */
function mergedRows(under: readonly ShapingRow[], over: readonly ShapingRow[]): readonly ShapingRow[] {
  const rows = new Map(under.map((row) => [row.id, row]));
  for (const row of over) {
    const below = rows.get(row.id);
    rows.set(row.id, { ...below, ...row, limits: { ...below?.limits, ...row.limits } });
  }
  return [...rows.values()];
}

function isDomain(text: string): boolean {
  return /^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)+$/.test(text) && text.length <= 253;
}

function refused(problems: readonly string[]): PlanFile {
  return { kind: 'refused', problems };
}
