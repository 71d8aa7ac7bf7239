/**
 * What was refused recently and why: one line of the mail log for each refusal, and the latest ones of each tenant in
 * memory. The API and SMTP submission report refusals here, without body, recipients or secrets. Kept in memory
 * because a refusal costs its sender nothing and must not cost us a write; the log keeps them over a restart. Each
 * tenant has its own rows and its own share of the log, unknown callers by IP address, so that none displaces another.
 * Repetitions of the same refusal only increase its count.
 */
import { BoundedMap } from '../../lib/bounded-map.ts';
import type { Clock } from '../../lib/clock.ts';
import { ERRORS, type ErrorName } from '../../lib/errors.ts';
import { uuidv7 } from '../../lib/ids.ts';
import { type Logger, maskAddresses } from '../../lib/log.ts';
import type { Random } from '../../lib/random.ts';
import { createRateGate, type RateGate } from '../../lib/rate-gate.ts';
import type { Caller } from '../../model/submission.ts';
import { networkKey } from './failed-logins.ts';

/** A refusal as its listener reports it. */
export interface RefusalFacts {
  /** null = not logged in. */
  caller: Caller | null;
  via: 'HTTP' | 'SMTP';
  /** `POST /email`, or the SMTP command, without any data of the sender. */
  action: string;
  /** HTTP status, or the code of the SMTP reply. */
  status: number;
  /** null: a protocol reply that is not in the registry. */
  name: ErrorName | null;
  /** The answer's text. */
  message: string;
  /** Sender domain concerned; null = unknown. */
  domain: string | null;
  ip: string;
  /** The dashboard asked, and shows the refusal itself: it is counted and logged, but not kept in the list. */
  isShownToPerson?: boolean;
}

export interface Refusal extends Readonly<Omit<RefusalFacts, 'caller' | 'isShownToPerson'>> {
  readonly id: string;
  /** Order of the last occurrence; higher is later. */
  readonly seq: number;
  /** The first and the last time. */
  readonly since: number;
  readonly at: number;
  readonly times: number;
  readonly code: number | null;
  readonly tokenId: string | null;
  readonly tokenName: string | null;
  /** Of the token; empty if there was none. */
  readonly callerDomains: readonly string[];
}

export interface Refusals {
  record(facts: RefusalFacts): void;
  /** Newest first. `domains`: only refusals of tokens limited to these; undefined = all. */
  list(domains?: readonly string[]): readonly Refusal[];
}

export const REFUSAL_LIMITS = {
  /** Rows per tenant, and per IP address of callers without a login. */
  rowsEach: 50,
  rowsOfStranger: 5,
  /** Rows of all tenants, and of all callers without a login. */
  maxRows: 5_000,
  maxStrangerRows: 500,
  /** Log lines of a tenant (all callers without a login count as one) at once, and per second after that. */
  logBurst: 60,
  logPerSecond: 1,
};

const MAX_MESSAGE_CHARS = 300;
const MAX_DOMAIN_CHARS = 253;
/** Log shares remembered; a dropped one starts again with a full share. */
const MAX_SHARES = 5_000;
const STRANGERS = '';

type Row = { -readonly [Key in keyof Refusal]: Refusal[Key] };

/** `count` is called for every refusal, whether its row is kept or not. */
export function createRefusals(deps: {
  clock: Clock;
  random: Random;
  /** The mail log. */
  log: Logger;
  count(via: RefusalFacts['via'], name: ErrorName | null): void;
}): Refusals {
  const { clock, random, log } = deps;
  const tenants = createRings(REFUSAL_LIMITS.maxRows);
  const strangers = createRings(REFUSAL_LIMITS.maxStrangerRows);
  let seq = 0;
  /** Log lines that a tenant may still write, and how many were left out. */
  const shares = new BoundedMap<string, { lines: RateGate; unlogged: number }>(MAX_SHARES);

  return {
    record(facts) {
      const { caller, ip, via, name } = facts;
      deps.count(via, name);
      const row = rowOf(facts);
      const tenant = caller === null ? STRANGERS : tenantOf(caller);
      if (facts.isShownToPerson === true) return write(tenant, row);
      if (caller === null) strangers.add(networkKey(ip), row, REFUSAL_LIMITS.rowsOfStranger);
      else tenants.add(tenant, row, REFUSAL_LIMITS.rowsEach);
      write(tenant, row);
    },
    list(domains) {
      const found = tenants.rows(({ callerDomains }) => {
        return domains === undefined || callerDomains.every((each) => domains.includes(each));
      });
      if (domains === undefined) found.push(...strangers.rows(() => true));
      return found.sort((a, b) => b.seq - a.seq);
    },
  };

  function rowOf({ caller, via, action, status, name, message, domain, ip }: RefusalFacts): Row {
    const now = clock.now();
    seq += 1;
    return {
      id: uuidv7(clock, random),
      seq,
      since: now,
      at: now,
      times: 1,
      via,
      action,
      status,
      code: name === null ? null : ERRORS[name].code,
      name,
      // Some messages name a recipient.
      message: maskAddresses(message.slice(0, MAX_MESSAGE_CHARS)).toWellFormed(),
      domain: domain === null ? null : domain.slice(0, MAX_DOMAIN_CHARS),
      tokenId: caller?.tokenId ?? null,
      tokenName: caller?.name ?? null,
      callerDomains: caller?.domains ?? [],
      ip,
    };
  }

  function write(tenant: string, row: Row): void {
    const nowMs = clock.monotonicMs();
    const lines = () => createRateGate(REFUSAL_LIMITS.logPerSecond, REFUSAL_LIMITS.logBurst);
    const share = shares.get(tenant) ?? { lines: lines(), unlogged: 0 };
    shares.set(tenant, share);
    if (share.lines.waitMs(nowMs) > 0) {
      share.unlogged += 1;
      return;
    }
    share.lines.take(nowMs);
    const { tokenId, tokenName, via, action, status, code, name, domain, ip, message } = row;
    const unlogged = share.unlogged === 0 ? {} : { unlogged: share.unlogged };
    share.unlogged = 0;
    log.info(
      { tokenId, tokenName, via, action, status, code, name, domain, ip, reason: message, ...unlogged },
      'refused',
    );
  }
}

/** Tokens that share their first domain belong to one tenant: nobody can create more tenants than there are domains. */
function tenantOf({ domains }: Caller): string {
  return [...domains].sort()[0] ?? '*';
}

/**
 * Rows by key, the oldest of a key removed first; if the total is too large, those of the key that was idle longest.
 */
function createRings(maxRows: number) {
  const rings = new BoundedMap<string, Row[]>(Number.POSITIVE_INFINITY);
  let total = 0;
  return {
    add(key: string, row: Row, maxEach: number): void {
      const ring = rings.get(key) ?? [];
      rings.set(key, ring);
      const last = ring.at(-1);
      if (last !== undefined && isLike(last, row)) {
        last.times += 1;
        last.at = row.at;
        last.seq = row.seq;
        return;
      }
      ring.push(row);
      total += 1;
      if (ring.length > maxEach) {
        ring.shift();
        total -= 1;
      }
      while (total > maxRows) total -= rings.shift()?.length ?? total;
    },
    rows: (isWanted: (row: Row) => boolean): Row[] =>
      [...rings.values()].flatMap((ring) => ring.filter(isWanted)),
  };
}

function isLike(a: Row, b: Row): boolean {
  return (
    a.status === b.status &&
    a.message === b.message &&
    a.tokenId === b.tokenId &&
    a.domain === b.domain &&
    a.action === b.action &&
    a.via === b.via &&
    a.ip === b.ip
  );
}
