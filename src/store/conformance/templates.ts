/** Conformance: templates and their versions. */
import { describe, expect, it } from 'vitest';
import { newId, type Suite, T0 } from './fixtures.ts';

const TEXTS = { subject: 'Hi {{name}}', html: '<p>{{name}}</p>', text: null };
const KEEP = { keepVersions: 1000 };

/** Tests of the operations of `TemplateStore`. */
export function describeTemplates({ store, reopen }: Suite): void {
  const add = async (more: { domain?: string; name?: string; maxPerDomain?: number } = {}) => {
    const id = newId();
    const template = { id, domain: 'example.com', name: `t-${id}`, texts: TEXTS, maxPerDomain: 100, now: T0 };
    return { id, result: await store.addTemplate({ ...template, ...more }) };
  };

  describe('templates', () => {
    it('come back as they were stored', async () => {
      const { id, result } = await add({ name: 'Welcome' });
      expect(result).toBe('added');
      const head = { id, domain: 'example.com', name: 'Welcome', version: 1, createdAt: T0, updatedAt: T0 };
      expect(await store.getTemplate({ id })).toEqual(head);
      expect(await store.templateVersion({ id, version: 1 })).toEqual({
        version: 1,
        createdAt: T0,
        ...TEXTS,
      });
      expect(await store.templateVersion({ id, version: 2 })).toBeNull();
      expect(await store.getTemplate({ id: newId() })).toBeNull();
    });

    it('keep every version through changes', async () => {
      const { id } = await add({ name: 'one' });
      const texts = { subject: null, html: null, text: 'Hello {{name}}' };
      const changed = await store.changeTemplate({ id, name: 'two', texts, now: T0 + 5, ...KEEP });
      expect(changed).toEqual({
        id,
        domain: 'example.com',
        name: 'two',
        version: 2,
        createdAt: T0,
        updatedAt: T0 + 5,
      });
      expect(await store.getTemplate({ id })).toEqual(changed);
      expect(await store.templateVersion({ id, version: 1 })).toMatchObject(TEXTS);
      expect(await store.templateVersion({ id, version: 2 })).toMatchObject(texts);
      expect(await store.listTemplateVersions({ id, limit: 10 })).toEqual([
        { version: 2, createdAt: T0 + 5 },
        { version: 1, createdAt: T0 },
      ]);
      expect(await store.listTemplateVersions({ id, limit: 1 })).toHaveLength(1);
      await reopen();
      expect(await store.templateVersion({ id, version: 1 })).toMatchObject(TEXTS);
    });

    it('keep as many versions as they are told, and never give a number twice', async () => {
      const { id } = await add();
      for (let i = 0; i < 3; i++) {
        await store.changeTemplate({ id, texts: TEXTS, keepVersions: 2, now: T0 + i });
      }
      const versions = await store.listTemplateVersions({ id, limit: 10 });
      expect(versions.map(({ version }) => version)).toEqual([4, 3]);
    });

    it('get a new name without a new version', async () => {
      const { id } = await add({ name: 'old' });
      const change = { id, name: 'new', texts: null, now: T0 + 5, ...KEEP };
      const renamed = await store.changeTemplate(change);
      expect(renamed).toMatchObject({ name: 'new', version: 1, createdAt: T0, updatedAt: T0 + 5 });
      expect(await store.getTemplate({ id })).toEqual(renamed);
      expect(await store.listTemplateVersions({ id, limit: 10 })).toHaveLength(1);
    });

    it('are changed from the version that is named, or not at all', async () => {
      const { id } = await add({ name: 'one' });
      const change = { id, texts: { ...TEXTS, text: 'mine' }, now: T0 + 1, ...KEEP };
      expect(await store.changeTemplate({ ...change, fromVersion: 1 })).toMatchObject({ version: 2 });
      const late = { ...change, name: 'two', texts: { ...TEXTS, text: 'theirs' }, fromVersion: 1 };
      expect(await store.changeTemplate(late)).toBe('changed');
      expect(await store.changeTemplate({ ...late, fromVersion: 3 })).toBe('changed');
      await reopen();
      expect(await store.getTemplate({ id })).toMatchObject({ name: 'one', version: 2 });
      expect(await store.templateVersion({ id, version: 2 })).toMatchObject({ text: 'mine' });
      expect(await store.templateVersion({ id, version: 3 })).toBeNull();
    });

    it('have a name each within a domain', async () => {
      const { id } = await add({ name: 'same' });
      expect((await add({ name: 'same' })).result).toBe('taken');
      expect((await add({ name: 'same', domain: 'example.org' })).result).toBe('added');
      const other = await add({ name: 'other' });
      const change = { id: other.id, texts: TEXTS, now: T0, ...KEEP };
      expect(await store.changeTemplate({ ...change, name: 'same' })).toBe('taken');
      expect(await store.getTemplate({ id: other.id })).toMatchObject({ name: 'other', version: 1 });
      expect(await store.changeTemplate({ ...change, id, name: 'same' })).toMatchObject({
        version: 2,
      });
    });

    it('are as many as a domain may have', async () => {
      expect((await add({ maxPerDomain: 1 })).result).toBe('added');
      expect((await add({ maxPerDomain: 1 })).result).toBe('full');
      expect((await add({ maxPerDomain: 1, domain: 'example.org' })).result).toBe('added');
    });

    it('are listed newest first, page by page, within the given domains', async () => {
      const ids: string[] = [];
      for (const domain of ['example.com', 'example.org', 'example.com'])
        ids.push((await add({ domain })).id);
      const [first = '', foreign = '', last = ''] = ids;
      const list = async (more: object) =>
        (await store.listTemplates({ limit: 10, ...more })).map(({ id }) => id);
      expect(await list({})).toEqual([last, foreign, first]);
      expect(await list({ domains: ['example.com'] })).toEqual([last, first]);
      expect(await list({ limit: 1 })).toEqual([last]);
      expect(await list({ beforeId: last })).toEqual([foreign, first]);
      expect(await list({ beforeId: newId() })).toEqual([]);
      expect(await list({ name: `t-${first}` })).toEqual([first]);
      expect(await list({ domains: [] })).toEqual([]);
      const named = { name: `t-${first}`, limit: 10 };
      expect(await store.templatesNamed({ ...named, domains: ['example.com'] })).toMatchObject([
        { id: first },
      ]);
      expect(await store.templatesNamed({ ...named, domains: ['example.org'] })).toEqual([]);
    });

    it('are found, changed and removed within the given domains only', async () => {
      const { id } = await add();
      const domains = ['example.org'];
      expect(await store.getTemplate({ id, domains })).toBeNull();
      expect(await store.changeTemplate({ id, domains, texts: TEXTS, now: T0, ...KEEP })).toBeNull();
      expect(await store.removeTemplate({ id, domains })).toBe(false);
      expect(await store.removeTemplate({ id, domains: ['example.com'] })).toBe(true);
      expect(await store.getTemplate({ id })).toBeNull();
      expect(await store.templateVersion({ id, version: 1 })).toBeNull();
      expect(await store.removeTemplate({ id })).toBe(false);
    });
  });
}
