/**
 * The limits in force: the shipped rows, the operator's rows over them, then overrides. A path begins with the row
 * `default`; the general row for small sites or for relays changes some limits; then the row of its provider; each
 * row's values for the source come last. Overrides can only make limits stricter.
 *
 * Answers come from memory; the result for a query is computed once until rows change.
 */

import { readFileSync } from 'node:fs';
import { BoundedMap } from '../../../lib/bounded-map.ts';
import { isLimitName, isStricter, LIMIT_NAMES, LIMITS } from './limit-values.ts';
import { GENERAL_ROWS, readShapingFile, type ShapingFile, type ShapingRow } from './shaping-file.ts';
import {
  domainKey,
  type EffectiveLimits,
  type Grouping,
  type LimitName,
  type LimitOrigin,
  type Override,
  type Overrides,
  type PathLimits,
  type PathQuery,
  pathKey,
  type Shaping,
  senderKey,
} from './types.ts';

/** Shaping whose rows can be replaced while it is in use. */
export interface ReloadableShaping extends Shaping {
  /** Puts the operator's rows over the shipped ones. `refused`: nothing changed. */
  useOperatorFile(
    text: string,
    file: string,
  ): { kind: 'used'; rows: number } | { kind: 'refused'; problems: readonly string[] };
  /** Removes the operator's rows. */
  useShippedOnly(): void;
  /** Rows in force, for people. */
  rows(): readonly ShapingRow[];
}

interface Layered {
  row: ShapingRow;
  /** The row in the operator's file, whose values take precedence. */
  operator: ShapingRow | null;
}

interface Base {
  limits: PathLimits;
  origins: Record<LimitName, LimitOrigin>;
}

const MAX_REMEMBERED = 20_000;
/** The row of sites with little traffic. */
const SMALL = 'small';

/** The shipped rows; throws if one is wrong, which tests exclude. */
export function shippedShaping(): readonly ShapingRow[] {
  const text = readFileSync(new URL('./shaping.json', import.meta.url), 'utf8');
  const file = readShapingFile(text, 'shaping.json');
  if (file.kind === 'refused') throw new TypeError(file.problems.join('; '));
  return file.rows;
}

/** The operator's rows, checked against the shipped ones. `file`, `sourceIds`: as for `readShapingFile`. */
export function readOperatorRows(
  text: string,
  file: string,
  sourceIds: ReadonlySet<string> | null,
): ShapingFile {
  return readShapingFile(text, file, sourceIds, new Set(shippedShaping().map(({ id }) => id)));
}

/**
 * `maxConnections`: the key `max-connections`, which replaces the value of the general rows and limits that of the
 * other shipped ones; null = not set. `transactionsInFlight`: the key `transactions-in-flight`, likewise. `sourceIds`: the
 * sources that rows may name.
 */
export function createShaping(
  overrides: Pick<Overrides, 'of'>,
  options: {
    maxConnections: number | null;
    transactionsInFlight?: number | null;
    sourceIds: ReadonlySet<string>;
  },
): ReloadableShaping {
  const shipped = shippedShaping();
  const { maxConnections, transactionsInFlight = null } = options;
  const keys = [
    { name: 'connections', key: 'max-connections', value: maxConnections },
    { name: 'transactionsInFlight', key: 'transactions-in-flight', value: transactionsInFlight },
  ] as const;
  let layers = layered(shipped, []);
  const remembered = new BoundedMap<string, EffectiveLimits>(MAX_REMEMBERED);
  /** A path asks with the same object several times per message, so its answer is found without allocating. */
  let answered = new WeakMap<PathQuery, EffectiveLimits>();

  return {
    limitsFor,
    groupingOf,
    useOperatorFile(text, file) {
      const read = readOperatorRows(text, file, options.sourceIds);
      if (read.kind === 'refused') return read;
      layers = layered(shipped, read.rows);
      forget();
      return { kind: 'used', rows: read.rows.length };
    },
    useShippedOnly() {
      layers = layered(shipped, []);
      forget();
    },
    isProvider: (name) => layers.has(name) && !GENERAL_ROWS.includes(name),
    rows: () => [...layers.values()].map(({ row }) => row),
  };

  function forget(): void {
    remembered.clear();
    answered = new WeakMap();
  }

  function limitsFor(query: PathQuery): EffectiveLimits {
    const base = baseOf(query);
    const tightening = overridesOf(query);
    if (tightening.length === 0) return base;
    const limits = { ...base.limits };
    const origins: Record<LimitName, LimitOrigin> = { ...base.origins };
    for (const override of tightening) {
      const { param, value } = override;
      if (!isLimitName(param) || !LIMITS[param].valid(value)) continue;
      if (!isStricter(param, value as PathLimits[typeof param], limits[param])) continue;
      Object.assign(limits, { [param]: value });
      origins[param] = { kind: 'override', id: override.id, rule: override.rule, until: override.until };
    }
    return { limits, origins };
  }

  function overridesOf({ source, site, provider, senderDomain }: PathQuery): readonly Override[] {
    const path = overrides.of('path', pathKey(source, site));
    if (senderDomain === undefined) return path;
    const ofSender = overrides.of('tenant@site', senderKey(senderDomain, site));
    const domain =
      provider === null ? [] : overrides.of('domain@provider', domainKey(senderDomain, provider));
    return ofSender.length + domain.length === 0 ? path : [...path, ...ofSender, ...domain];
  }

  function baseOf(query: PathQuery): EffectiveLimits {
    const same = answered.get(query);
    if (same !== undefined) return same;
    const found = sharedBase(query);
    // Callers that ask about one sender domain create an object for it, so caching it is useless.
    if (query.senderDomain === undefined) answered.set(query, found);
    return found;
  }

  /** Queries that are equal in all relevant members share one result. */
  function sharedBase(query: PathQuery): EffectiveLimits {
    const small = smallRow(query) !== null;
    const relay = query.route === 'relay' ? query.site : '';
    const key = `${query.source}\n${query.provider ?? ''}\n${query.route}\n${small}\n${relay}`;
    const known = remembered.get(key);
    if (known !== undefined) return known;
    const found = workOut(query);
    remembered.set(key, found);
    return found;
  }

  function workOut(query: PathQuery): EffectiveLimits {
    const base: Partial<Base['limits']> = {};
    const origins: Partial<Base['origins']> = {};
    for (const { row, operator } of rowsFor(query)) {
      const general = GENERAL_ROWS.includes(row.id);
      apply(row.limits ?? {}, row, operator?.limits);
      for (const { name, key, value } of keys) {
        if (value === null || !general || row.limits?.[name] === undefined) continue;
        if (operator?.limits?.[name] === undefined) useKey(name, key, value);
      }
      const ofSource = row.sources?.[query.source];
      if (ofSource !== undefined) apply(ofSource, row, operator?.sources?.[query.source]);
    }
    for (const { name, key, value } of keys)
      if (value !== null && origins[name]?.kind === 'data' && (base[name] ?? 0) > value)
        useKey(name, key, value);
    // Every limit is in the row `default`, which a test ensures.
    return { limits: base as PathLimits, origins: origins as Base['origins'] };

    function useKey(name: (typeof keys)[number]['name'], key: string, value: number): void {
      base[name] = value;
      origins[name] = { kind: 'config', key };
    }

    function stricterThanBase<Name extends LimitName>(name: Name, limits: Partial<PathLimits>): boolean {
      const before = base[name];
      return (
        before === undefined || isStricter(name, limits[name] as PathLimits[Name], before as PathLimits[Name])
      );
    }

    function apply(limits: Partial<PathLimits>, row: ShapingRow, own: Partial<PathLimits> | undefined): void {
      for (const name of LIMIT_NAMES) {
        if (limits[name] === undefined) continue;
        // A small site never gets looser limits than others, however strict the operator's limits for those are.
        const loosens = row.id === SMALL && own?.[name] === undefined && !stricterThanBase(name, limits);
        if (loosens) continue;
        Object.assign(base, { [name]: limits[name] });
        origins[name] =
          own?.[name] === undefined
            ? { kind: 'data', row: row.id, since: row.since ?? '' }
            : { kind: 'user', row: row.id };
      }
    }
  }

  function rowsFor(query: PathQuery): readonly Layered[] {
    const named = query.route === 'relay' ? relayRow(query.site) : layers.get(query.provider ?? '');
    const general = query.route === 'relay' ? layers.get('relay') : smallRow(query);
    return [layers.get('default'), general, named].filter((one) => one !== undefined && one !== null);
  }

  function smallRow({ route, provider, messagesLastDay }: PathQuery): Layered | null {
    const small = layers.get(SMALL);
    if (small === undefined || route === 'relay' || messagesLastDay === undefined) return null;
    if (provider !== null && layers.has(provider)) return null;
    return messagesLastDay < (small.row.belowMessagesPerDay ?? 0) ? small : null;
  }

  /** `relay:host:port|relay:host:port#2`, the name of a site of relays (routes.ts). */
  function relayRow(site: string): Layered | undefined {
    const hosts = site.split('|').map((name) => name.replace(/^relay:/, '').replace(/#\d+$/, ''));
    return [...layers.values()].find(({ row }) =>
      row.relays?.some((relay) =>
        hosts.some((host) => host === relay || host.replace(/:\d+$/, '') === relay),
      ),
    );
  }

  function groupingOf(recipientDomain: string, mxHosts: readonly string[]): Grouping {
    const domain = recipientDomain.toLowerCase();
    let found = [...layers.values()].find(({ row }) => row.domains?.includes(domain));
    if (found === undefined) {
      const [first, ...rest] = mxHosts.map(rowOfHost);
      if (first !== undefined && rest.every((one) => one === first)) found = first;
    }
    return found === undefined
      ? { provider: null, oneSite: false }
      : { provider: found.row.id, oneSite: found.row.oneSite ?? true };
  }

  /** The row with the longest matching suffix of this host name. */
  function rowOfHost(host: string): Layered | undefined {
    const name = `.${host.toLowerCase().replace(/\.$/, '')}`;
    let best: Layered | undefined;
    let length = 0;
    for (const layer of layers.values()) {
      for (const suffix of layer.row.mx ?? []) {
        if (suffix.length > length && name.endsWith(suffix)) {
          best = layer;
          length = suffix.length;
        }
      }
    }
    return best;
  }
}

/** The operator's rows first, then shipped ones; rows of the same id are merged field by field, limit by limit. */
function layered(
  shipped: readonly ShapingRow[],
  operators: readonly ShapingRow[],
): ReadonlyMap<string, Layered> {
  const layers = new Map<string, Layered>();
  const byId = new Map(shipped.map((row) => [row.id, row]));
  for (const operator of operators) {
    const row = byId.get(operator.id);
    layers.set(operator.id, { row: row === undefined ? operator : merged(row, operator), operator });
  }
  for (const row of shipped) if (!layers.has(row.id)) layers.set(row.id, { row, operator: null });
  return layers;
}

function merged(row: ShapingRow, over: ShapingRow): ShapingRow {
  const sources: Record<string, Partial<PathLimits>> = { ...row.sources };
  for (const [id, limits] of Object.entries(over.sources ?? {})) sources[id] = { ...sources[id], ...limits };
  return { ...row, ...over, limits: { ...row.limits, ...over.limits }, sources };
}
