/** Templates and their versions, per sender domain. Part of the Store (`../store.ts` says what all its operations promise). */
import type { TemplateHead, TemplateTexts, TemplateVersion } from '../../model/template.ts';
import type { IdempotencyEntry } from './acceptance.ts';

export interface TemplateStore {
  /**
   * Stores a template with its first version. `taken` where the domain has one of that name, `full` where it has
   * `maxPerDomain`. Synced.
   */
  addTemplate(params: {
    id: string;
    domain: string;
    name: string;
    texts: TemplateTexts;
    maxPerDomain: number;
    now: number;
    /** Taken in the same transaction where something is made; rejects with KeyTaken where it is taken already. */
    idempotency?: IdempotencyEntry;
  }): Promise<'added' | 'taken' | 'full'>;
  /**
   * Adds a version, and changes the name where one is given; the newest `keepVersions` stay. null where there is none
   * of that id in those domains, `taken` where another of its domain has the name. Synced.
   */
  changeTemplate(params: {
    id: string;
    domains?: readonly string[];
    name?: string;
    texts: TemplateTexts;
    keepVersions: number;
    now: number;
  }): Promise<TemplateHead | 'taken' | null>;
  /** With every version; false where there is none of that id in those domains. Synced. */
  removeTemplate(params: { id: string; domains?: readonly string[] }): Promise<boolean>;
  getTemplate(params: { id: string; domains?: readonly string[] }): Promise<TemplateHead | null>;
  /** The texts of one version of a template, or null. */
  templateVersion(params: { id: string; version: number }): Promise<TemplateVersion | null>;
  /** Versions that are kept, newest first, without their texts. */
  listTemplateVersions(params: {
    id: string;
    limit: number;
  }): Promise<readonly { version: number; createdAt: number }[]>;
  /** Newest template first; `beforeId` is the last one of the page before. `domains` undefined = all. */
  listTemplates(params: {
    domains?: readonly string[];
    name?: string;
    beforeId?: string;
    limit: number;
  }): Promise<readonly TemplateHead[]>;
}
