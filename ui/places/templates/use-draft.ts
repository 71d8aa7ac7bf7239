/**
 * The texts of a template while somebody writes them, and the version that they were made from. What is not saved outlives
 * the page that shows it, until it is saved or given up: whoever is signed out in between finds it again, and nobody else does.
 */
import { useEffect, useState } from 'react';
import type { Template } from '../../../src/client/api-types.ts';

/** '' = the request gives this part. */
export interface Texts {
  Subject: string;
  HTMLContent: string;
  PlainContent: string;
}

export interface Draft {
  texts: Texts;
  /** What these texts were made from. */
  base: { version: number; texts: Texts };
  isChanged: boolean;
  /** Somebody stored a newer version meanwhile. */
  isBehind: boolean;
  change(texts: Partial<Texts>): void;
  /** Goes on with these texts as a change of the newest version. */
  keep(): void;
  /** Shows what is stored. */
  reset(to?: Template): void;
}

type Kept = Pick<Draft, 'texts' | 'base'>;

const unsaved = new Map<string, Kept>();

export function textsOf(given: Pick<Template, keyof Texts>): Texts {
  return {
    Subject: given.Subject ?? '',
    HTMLContent: given.HTMLContent ?? '',
    PlainContent: given.PlainContent ?? '',
  };
}

/** `key`: of the template and whoever writes. */
export function useDraft(template: Template, key: string): Draft {
  const { Version } = template;
  const [draft, setDraft] = useState<Kept>(() => unsaved.get(key) ?? storedIn(template));
  const isChanged = !areSame(draft.texts, draft.base.texts);
  const show = (next: Kept): void => {
    if (areSame(next.texts, next.base.texts)) unsaved.delete(key);
    else unsaved.set(key, next);
    setDraft(next);
  };
  // Nothing would be lost: what somebody else stored is shown as it comes.
  useEffect(() => {
    if (!isChanged && Version > draft.base.version) setDraft(storedIn(template));
  }, [isChanged, Version, draft.base.version, template]);
  return {
    ...draft,
    isChanged,
    isBehind: isChanged && Version > draft.base.version,
    change: (texts) => show({ ...draft, texts: { ...draft.texts, ...texts } }),
    keep: () => show({ ...draft, base: storedIn(template).base }),
    reset: (to = template) => show(storedIn(to)),
  };
}

function storedIn(template: Template): Kept {
  const texts = textsOf(template);
  return { texts, base: { version: template.Version, texts } };
}

function areSame(a: Texts, b: Texts): boolean {
  return a.Subject === b.Subject && a.HTMLContent === b.HTMLContent && a.PlainContent === b.PlainContent;
}
