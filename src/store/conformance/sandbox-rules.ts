/** Conformance: sandbox rules: stored, counted, kept with the recipient they were used for. */
import { describe, expect, it } from 'vitest';
import type { SandboxRule } from '../../model/sandbox-rule.ts';
import { commit, message, newId, only, recipient, type Suite, T0, token } from './fixtures.ts';

/** A rule that bounces everything of example.com. */
export function rule(more: Partial<SandboxRule> = {}): SandboxRule {
  return {
    id: newId(),
    domain: 'example.com',
    inbox: null,
    recipient: null,
    subject: null,
    tag: null,
    result: 'bounce',
    defers: 0,
    delayMs: 0,
    reply: null,
    probability: 1,
    times: null,
    uses: 0,
    createdAt: T0,
    expiresAt: T0 + 1000,
    ...more,
  };
}

/** Tests of `addSandboxRule`, `listSandboxRules`, `removeSandboxRules`, `useSandboxRule`, `ruleSubject`. */
export function describeSandboxRules({ store }: Suite): void {
  describe('sandbox rules', () => {
    const add = (one: SandboxRule, now = T0, maxPerDomain = 100) =>
      store.addSandboxRule({ rule: one, now, maxPerDomain });
    const list = (more: object = {}) => store.listSandboxRules({ now: T0, ...more });

    it('come back as they were stored, oldest first, until they end', async () => {
      const full = rule({
        inbox: 'run',
        recipient: '*@example.net',
        subject: 'S',
        tag: 't',
        result: 'defer',
        defers: 2,
        delayMs: 5,
        reply: { code: 451, enhanced: '4.7.1', text: 'later' },
        probability: 0.5,
        times: 3,
        expiresAt: T0 + 10,
      });
      const other = rule({ domain: 'example.org' });
      expect([await add(full), await add(other)]).toEqual([true, true]);
      expect(await list()).toEqual([full, other]);
      expect(await list({ domains: ['example.org'] })).toEqual([other]);
      expect(await list({ now: T0 + 10 })).toEqual([other]);
      expect(await store.removeSandboxRules({ limit: 10, inbox: 'run', domains: ['example.org'] })).toBe(0);
      expect(await store.removeSandboxRules({ limit: 10, inbox: 'run' })).toBe(1);
      expect(await store.removeSandboxRules({ limit: 10, ids: [other.id] })).toBe(1);
      expect(await list()).toEqual([]);
    });

    it('are as many as a domain may have; ended ones make room', async () => {
      expect(await add(rule(), T0, 1)).toBe(true);
      expect(await add(rule(), T0, 1)).toBe(false);
      expect(await add(rule({ domain: 'example.org' }), T0, 1)).toBe(true);
      expect(await add(rule({ expiresAt: T0 + 9000 }), T0 + 1000, 1)).toBe(true);
      expect(await list({ domains: ['example.com'] })).toHaveLength(1);
    });

    it('are used in order, so often as they may, and again for the same recipient', async () => {
      const once = rule({ times: 1 });
      const ended = rule({ expiresAt: T0 + 1 });
      const always = rule();
      for (const one of [ended, once, always]) await add(one);
      const ids = [ended.id, once.id, always.id];
      const use = async (deliveryId: number, given: readonly string[] = ids, now = T0 + 1) => {
        const used = await store.useSandboxRule({ deliveryId, ids: given, now });
        return used === null ? null : [used.rule.id, used.since, used.rule.uses];
      };
      expect(await use(1)).toEqual([once.id, T0 + 1, 1]);
      expect(await use(2)).toEqual([always.id, T0 + 1, 1]);
      expect(await use(1, [], T0 + 5000)).toEqual([once.id, T0 + 1, 1]);
      expect(await use(3, [])).toBeNull();
      await store.removeSandboxRules({ limit: 10, ids: [once.id] });
      expect(await use(1, [])).toBeNull();
    });

    it('ask for the subject, the tags and the sender of a message', async () => {
      await store.addToken({ maxPerDomain: 1000, token: token({ id: 'ci', name: 'Run' }) });
      const sent = message({ tokenId: 'ci', tags: ['t'], recipients: [recipient()] });
      const { seq } = only(await commit(store, [sent]));
      const facts = await store.ruleSubject({ messageSeq: seq });
      expect(facts).toEqual({ subject: 'Hello', tags: ['t'], sender: 'Run' });
      expect(await store.ruleSubject({ messageSeq: 9_999 })).toBeNull();
    });
  });
}
