/** Sandbox rules. Part of the Store (`../store.ts` has the promises of all its operations). */
import type { SandboxRule } from '../../model/sandbox-rule.ts';
import type { IdempotencyEntry } from './acceptance.ts';

export interface SandboxRuleStore {
  /**
   * Synced. false, and nothing stored, if its domain has `maxPerDomain` already; those that ended by `now` are deleted
   * first.
   */
  addSandboxRule(params: {
    rule: SandboxRule;
    now: number;
    maxPerDomain: number;
    /** Stored in the same transaction if something is created; rejects with KeyTaken if it is taken. */
    idempotency?: IdempotencyEntry | undefined;
  }): Promise<boolean>;
  /** Those that have not ended, oldest first, with their uses. */
  listSandboxRules(params: { domains?: readonly string[]; now: number }): Promise<readonly SandboxRule[]>;
  /**
   * Synced. Removes at most `limit` that match every given condition, with the record of their uses; returns how many.
   */
  removeSandboxRules(params: {
    ids?: readonly string[];
    inbox?: string;
    domains?: readonly string[];
    limit: number;
  }): Promise<number>;
  /**
   * The rule for this recipient: the one used before, whatever is given; otherwise the first of `ids` that has not
   * ended and has a use left, which is counted. `since`: when it was first used for the recipient. null = none.
   */
  useSandboxRule(params: {
    deliveryId: number;
    ids: readonly string[];
    now: number;
  }): Promise<{ rule: SandboxRule; since: number } | null>;
  /** What a rule needs of a message besides its address: its subject, tags, and the name of the token that sent it. */
  ruleSubject(params: {
    messageSeq: number;
  }): Promise<{ subject: string; tags: readonly string[]; sender: string } | null>;
}
