/** Templates and their versions, per sender domain. Part of the Store (`../store.ts` has the promises of all its operations). */
import type { TemplateHead, TemplateTexts, TemplateVersion } from '../../model/template.ts';
import type { IdempotencyEntry } from './acceptance.ts';

export interface TemplateStore {
  /**
   * Stores a template with its first version. `taken` if the domain has one of this name, `full` if it has
   * `maxPerDomain`. Synced.
   */
  addTemplate(params: {
    id: string;
    domain: string;
    name: string;
    texts: TemplateTexts;
    maxPerDomain: number;
    now: number;
    /** Stored in the same transaction if something is created; rejects with KeyTaken if it is taken. */
    idempotency?: IdempotencyEntry | undefined;
  }): Promise<'added' | 'taken' | 'full'>;
  /**
   * Adds a version unless `texts` is null, and changes the name if given; the newest `keepVersions` stay. null if those
   * domains have none with this id, `changed` if its newest version is not `fromVersion`, `taken` if another template of
   * its domain has the name. Synced.
   */
  changeTemplate(params: {
    id: string;
    domains?: readonly string[];
    name?: string;
    texts: TemplateTexts | null;
    /** The version that the change was made from; absent = any. */
    fromVersion?: number;
    keepVersions: number;
    now: number;
  }): Promise<TemplateHead | 'changed' | 'taken' | null>;
  /** Removes all versions; false if those domains have none with this id. Synced. */
  removeTemplate(params: { id: string; domains?: readonly string[] }): Promise<boolean>;
  getTemplate(params: { id: string; domains?: readonly string[] }): Promise<TemplateHead | null>;
  /** The texts of one version of a template, or null. */
  templateVersion(params: { id: string; version: number }): Promise<TemplateVersion | null>;
  /** Stored versions, newest first, without their texts. */
  listTemplateVersions(params: {
    id: string;
    limit: number;
  }): Promise<readonly { version: number; createdAt: number }[]>;
  /** Newest template first; `beforeId` is the last one of the previous page. `domains` undefined = all. */
  listTemplates(params: {
    domains?: readonly string[];
    name?: string;
    beforeId?: string;
    limit: number;
  }): Promise<readonly TemplateHead[]>;
  /** Those of this name, in the same order. */
  templatesNamed(params: {
    domains?: readonly string[];
    name: string;
    limit: number;
  }): Promise<readonly TemplateHead[]>;
}
