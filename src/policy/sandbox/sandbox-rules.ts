/**
 * Sandbox rules: which rule simulates the result of a recipient that goes to the sandbox. Rules are also kept in
 * memory, so that mail causes no query if there are none; the store decides which one is used, and how often. A rule
 * applies to mail that is accepted while it exists, never to mail that is really sent.
 */
import type { Clock } from '../../lib/clock.ts';
import { uuidv7 } from '../../lib/ids.ts';
import type { Random } from '../../lib/random.ts';
import { inboxLabel } from '../../model/inbox.ts';
import { mayMatch, type RuleQuestion, type SandboxRule } from '../../model/sandbox-rule.ts';
import type { IdempotencyEntry } from '../../store/topics/acceptance.ts';
import type { SandboxRuleStore } from '../../store/topics/sandbox-rules.ts';

/** A rule that applies. `since`: when it was first used for this recipient. */
export interface RuleInUse {
  rule: SandboxRule;
  since: number;
}

/** Those that match every given condition. */
interface Which {
  ids?: readonly string[];
  inbox?: string;
  domains?: readonly string[];
}

const REMOVED_AT_ONCE = 200;

export interface SandboxRules {
  /** Reads the stored rules; once, before use. */
  load(): Promise<void>;
  /** From the store, with the number of uses. */
  list(domains: { domains?: readonly string[] }): Promise<readonly SandboxRule[]>;
  /** Stored before it resolves; null if the domain has the maximum number of rules. */
  add(
    wanted: Omit<SandboxRule, 'id' | 'uses' | 'createdAt'>,
    /** The key of the request, with the answer that shows the rule; rejects with KeyTaken if the key is taken. */
    keyFor?: (rule: SandboxRule) => IdempotencyEntry,
  ): Promise<SandboxRule | null>;
  /** How many. */
  remove(which: Which): Promise<number>;
  /** Whether a rule may apply to this mail, as far as is known when it is accepted. From memory. */
  mayApply(mail: Omit<RuleQuestion, 'inbox'>): boolean;
  /** The rule for this recipient, the same at each attempt; null = none. */
  ruleFor(delivery: {
    id: number;
    messageSeq: number;
    senderDomain: string;
    address: string;
    attempts: number;
  }): Promise<RuleInUse | null>;
}

export const MAX_RULES_PER_DOMAIN = 100;

/** Knows no rules until `load`. */
export function createSandboxRules(deps: {
  store: SandboxRuleStore;
  clock: Clock;
  random: Random;
}): SandboxRules {
  const { store, clock, random } = deps;
  /** By sender domain; without empty lists. */
  let rules = new Map<string, readonly SandboxRule[]>();

  return {
    load,
    list: (domains) => store.listSandboxRules({ ...domains, now: clock.now() }),
    async add(wanted, keyFor) {
      const now = clock.now();
      const rule: SandboxRule = { ...wanted, id: uuidv7(clock, random), uses: 0, createdAt: now };
      const added = await store.addSandboxRule({
        rule,
        now,
        maxPerDomain: MAX_RULES_PER_DOMAIN,
        idempotency: keyFor?.(rule),
      });
      if (!added) return null;
      put(
        rule.domain,
        [...(rules.get(rule.domain) ?? []), rule].filter(({ expiresAt }) => expiresAt > now),
      );
      return rule;
    },
    async remove(which) {
      let count = 0;
      for (;;) {
        const removed = await store.removeSandboxRules({ ...which, limit: REMOVED_AT_ONCE });
        count += removed;
        if (removed < REMOVED_AT_ONCE) break;
      }
      forget(which);
      return count;
    },
    mayApply(mail) {
      const own = rules.get(mail.senderDomain);
      if (own === undefined) return false;
      const now = clock.now();
      const inbox = inboxLabel(mail.address) ?? undefined;
      return own.some((rule) => rule.expiresAt > now && mayMatch(rule, { ...mail, inbox }));
    },
    async ruleFor(delivery) {
      // A recipient that was tried before may have a rule that has ended since.
      const before = delivery.attempts > 0;
      const { senderDomain, address } = delivery;
      const own = rules.get(senderDomain) ?? [];
      if (own.length === 0 && !before) return null;
      const now = clock.now();
      const label = inboxLabel(address) ?? undefined;
      const asked = { senderDomain, address, subject: undefined, tags: undefined, inbox: label };
      let fitting = own.filter((rule) => rule.expiresAt > now && mayMatch(rule, asked));
      if (fitting.some((rule) => rule.subject !== null || rule.tag !== null || rule.inbox !== null)) {
        const known = await store.ruleSubject({ messageSeq: delivery.messageSeq });
        if (known === null) return null;
        const inbox = label ?? known.sender.toLowerCase();
        const mail = { senderDomain, address, subject: known.subject, tags: known.tags, inbox };
        fitting = fitting.filter((rule) => mayMatch(rule, mail));
      }
      const drawn = fitting.filter(({ probability }) => probability >= 1 || random.float() < probability);
      if (drawn.length === 0 && !before && fitting.length === 0) return null;
      return store.useSandboxRule({ deliveryId: delivery.id, ids: drawn.map(({ id }) => id), now });
    },
  };

  async function load(): Promise<void> {
    const all = await store.listSandboxRules({ now: clock.now() });
    rules = Map.groupBy(all, ({ domain }) => domain);
  }

  function put(domain: string, own: readonly SandboxRule[]): void {
    if (own.length === 0) rules.delete(domain);
    else rules.set(domain, own);
  }

  function forget({ ids, inbox, domains }: Which): void {
    const named = ids === undefined ? null : new Set(ids);
    for (const domain of domains ?? [...rules.keys()]) {
      const goes = (rule: SandboxRule) =>
        named?.has(rule.id) !== false && (inbox === undefined || rule.inbox === inbox);
      put(
        domain,
        (rules.get(domain) ?? []).filter((rule) => !goes(rule)),
      );
    }
  }
}
