/** Faults on demand. Part of the Store (`../store.ts` says what all its operations promise). */
import type { SandboxRule } from '../../model/sandbox-rule.ts';
import type { IdempotencyEntry } from './acceptance.ts';

export interface SandboxRuleStore {
  /** Synced. False, and nothing stored, where its domain has `maxPerDomain` already; those that ended at `now` go first. */
  addSandboxRule(params: {
    rule: SandboxRule;
    now: number;
    maxPerDomain: number;
    /** Taken in the same transaction where something is made; rejects with KeyTaken where it is taken already. */
    idempotency?: IdempotencyEntry;
  }): Promise<boolean>;
  /** Those that have not ended, oldest first, with their uses so far. */
  listSandboxRules(params: { domains?: readonly string[]; now: number }): Promise<readonly SandboxRule[]>;
  /** Synced. At most `limit` that match every given condition, with the memory of whom they were used for; how many. */
  removeSandboxRules(params: {
    ids?: readonly string[];
    inbox?: string;
    domains?: readonly string[];
    limit: number;
  }): Promise<number>;
  /**
   * The rule that plays this recipient: the one that did before, whatever is given; else the first of `ids` that has not
   * ended and has a use left, which is counted. `since`: when it was first used for the recipient. null = none.
   */
  useSandboxRule(params: {
    deliveryId: number;
    ids: readonly string[];
    now: number;
  }): Promise<{ rule: SandboxRule; since: number } | null>;
  /** What a rule asks about a message beside its address: its subject, tags, and the name of who sent it. */
  ruleSubject(params: {
    messageSeq: number;
  }): Promise<{ subject: string; tags: readonly string[]; sender: string } | null>;
}
