/**
 * Sender domains of a simulated run and their DKIM keys: real RSA keys, put into the store as another node would, turned
 * over, removed and added again while mail is on its way. Keeps book of which key was in force when, and holds the
 * signature of every message that a far end took against it.
 *
 * Node signs on its thread pool, whose moments no virtual clock knows, so here the same call answers at once. The keys
 * are short and made once for the process: what is tested is which of them signs.
 */
import crypto, { generateKeyPairSync } from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import type { Clock } from '../../src/lib/clock.ts';
import type { Sealer } from '../../src/lib/seal.ts';
import { verifyDkim } from '../../src/mail/dkim-verify.ts';
import type { DkimKey } from '../../src/model/domain.ts';
import type { WireTransaction } from '../../src/simulation/wire.ts';
import type { Store } from '../../src/store/store.ts';
import type { Action } from './plan.ts';

export type KeyAction = Extract<Action, { kind: 'rotate' | 'remove-domain' | 'add-domain' }>;

export interface SenderKeys {
  /** Every sender domain is there, with an active key and a standby. */
  install(store: Store): Promise<void>;
  /**
   * `rotate`: the standby signs from now on, and there is another one. `add-domain`, where it was removed: it comes back
   * with other keys under the same selectors.
   */
  act(action: KeyAction, store: Store): Promise<void>;
  /** What a far end has taken, with its bytes. */
  took(transaction: WireTransaction, message: string): void;
  /** At the end: what is wrong with the signatures of what was taken, and mail of domains that were not there. */
  check(
    transactions: readonly WireTransaction[],
    domainOf: (deliveryId: number) => string,
  ): Promise<string[]>;
}

/** An answer about a domain may be this old, and a signed message waits behind another one for at most this long. */
const LATE_MS = 90_000;
const POOL = 6;
const SEAL = 'dkim-key';

interface KeyPair {
  der: Uint8Array;
  publicKey: string;
}

interface InForce {
  selector: string;
  publicKey: string;
  fromMs: number;
  untilMs: number;
}

const pool: KeyPair[] = [];

function pairs(): readonly KeyPair[] {
  while (pool.length < POOL) {
    const { privateKey, publicKey } = generateKeyPairSync('rsa', {
      modulusLength: 1024,
      privateKeyEncoding: { type: 'pkcs8', format: 'der' },
      publicKeyEncoding: { type: 'spki', format: 'der' },
    });
    pool.push({ der: privateKey, publicKey: publicKey.toString('base64') });
  }
  return pool;
}

/** Node's own, also after a run that failed before it put it back. */
const { sign } = crypto;

/** Until what it returns is called: other tests of this process sign as the service does. */
function signAtOnce(): () => void {
  const atOnce = (...[algorithm, data, key, done]: Parameters<typeof sign> | never[]): unknown => {
    const signature = sign(algorithm as string, data as Buffer, key as crypto.KeyLike);
    if (typeof done !== 'function') return signature;
    queueMicrotask(() => (done as (error: null, signature: Buffer) => void)(null, signature));
    return undefined;
  };
  const put = (signs: unknown) => {
    Object.assign(crypto, { sign: signs });
    syncBuiltinESMExports();
  };
  put(atOnce);
  return () => put(sign);
}

export function createSenderKeys(
  { clock, sealer }: { clock: Clock; sealer: Sealer },
  domains: readonly string[],
): SenderKeys {
  const signLater = signAtOnce();
  const history = new Map<string, InForce[]>();
  /** Selectors used so far, and the number of times it was added. */
  const used = new Map<string, { selector: number; added: number }>();
  const taken: { transaction: WireTransaction; message: string; wallMs: number }[] = [];

  return {
    async install(store) {
      for (const domain of domains) if (!used.has(domain)) await add(store, domain);
    },
    async act({ kind, tenant }, store) {
      if (kind === 'rotate') return rotate(store, tenant);
      if (kind === 'remove-domain') {
        if (await store.removeDomain({ name: tenant })) ended(tenant);
      } else if ((await store.getDomain({ name: tenant })) === null) await add(store, tenant);
    },
    took: (transaction, message) => void taken.push({ transaction, message, wallMs: clock.now() }),
    async check(transactions, domainOf) {
      signLater();
      const wrong: string[] = [];
      for (const { deliveryId, atMs, bodyAtMs } of transactions) {
        if (bodyAtMs === null) continue;
        const domain = domainOf(deliveryId);
        const keys = history.get(domain) ?? [];
        if (keys.some(({ fromMs, untilMs }) => fromMs <= atMs && untilMs >= atMs - LATE_MS)) continue;
        wrong.push(`delivery ${deliveryId} went out though ${domain} was not there`);
      }
      for (const one of taken) {
        const domain = domainOf(one.transaction.deliveryId);
        const what = await checkOne(one, domain);
        if (what !== null) wrong.push(`delivery ${one.transaction.deliveryId} ${what}`);
      }
      return wrong;
    },
  };

  async function checkOne(
    { transaction, message, wallMs }: (typeof taken)[number],
    domain: string,
  ): Promise<string | null> {
    const keys = history.get(domain) ?? [];
    const bytes = Buffer.from(message, 'latin1');
    const selector = /\bs=([a-z0-9]+);/.exec(message.slice(0, message.indexOf('\r\n\r\n')))?.[1];
    if (selector === undefined) return 'was taken without a signature';
    // Of keys that came under the same selector, the last that verifies.
    for (const key of keys.filter((one) => one.selector === selector).toReversed()) {
      const [verdict] = await verifyDkim(bytes, {
        domains: new Set([domain]),
        lookUp: async () => ({ kind: 'found', texts: [`v=DKIM1; k=rsa; p=${key.publicKey}`] }),
        nowMs: wallMs,
        turn: () => undefined,
      });
      if (verdict?.result !== 'pass') continue;
      const late = Math.round((transaction.atMs - key.untilMs) / 1000);
      return late * 1000 <= LATE_MS
        ? null
        : `was signed by ${selector}, ${late} s after another key of ${domain} was in force`;
    }
    return `has a signature by ${selector} that no key of ${domain} verifies`;
  }

  async function rotate(store: Store, domain: string): Promise<void> {
    const known = await store.getDomain({ name: domain });
    const standby = known?.keys.find(({ role }) => role === 'standby');
    const count = used.get(domain);
    if (standby === undefined || count === undefined) return;
    const now = clock.now();
    if ((await store.rotateDomainKey({ name: domain, selector: standby.selector, now })) === null) return;
    inForce(domain, standby);
    count.selector += 1;
    await store.replaceRetiredKey({
      name: domain,
      retiredBefore: Number.MAX_SAFE_INTEGER,
      key: keyOf(domain, 'standby'),
      now,
    });
  }

  async function add(store: Store, domain: string): Promise<void> {
    const before = used.get(domain);
    const count = { selector: 1, added: (before?.added ?? 0) + 1 };
    used.set(domain, count);
    const active = keyOf(domain, 'active');
    count.selector += 1;
    const keys = [active, keyOf(domain, 'standby')];
    const [now, verifyToken] = [clock.now(), '00'.repeat(16)];
    await store.addDomain({
      ...{ name: domain, status: 'Verified', verifiedBy: 'operator', settings: {} },
      ...{ verifyToken, keys, now },
    });
    inForce(domain, active);
  }

  function keyOf(domain: string, role: DkimKey['role']): DkimKey {
    const { selector, added } = used.get(domain) ?? { selector: 1, added: 1 };
    // Two that follow each other, and the same selector of one that was added again, differ.
    const pair = pairs()[(domains.indexOf(domain) + selector + 2 * added) % POOL];
    if (pair === undefined) throw new Error('no key');
    return {
      ...{ selector: `pr${selector}`, role, publicKey: pair.publicKey, createdAt: clock.now() },
      privateSealed: sealer.seal(pair.der, SEAL),
      retiredAt: null,
    };
  }

  function inForce(domain: string, { selector, publicKey }: DkimKey): void {
    ended(domain);
    const keys = history.get(domain) ?? [];
    keys.push({ selector, publicKey, fromMs: clock.monotonicMs(), untilMs: Number.POSITIVE_INFINITY });
    history.set(domain, keys);
  }

  function ended(domain: string): void {
    const last = history.get(domain)?.at(-1);
    if (last !== undefined) last.untilMs = Math.min(last.untilMs, clock.monotonicMs());
  }
}
