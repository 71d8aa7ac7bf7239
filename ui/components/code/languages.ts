/** What the editor knows of the languages that it colours: HTML and JSON with the tags of templates, and plain text. */
import { HighlightStyle, LRLanguage, syntaxHighlighting } from '@codemirror/language';
import type { Extension } from '@codemirror/state';
import { Decoration, type DecorationSet, EditorView, MatchDecorator, ViewPlugin } from '@codemirror/view';
import { tags } from '@lezer/highlight';
import { parser as htmlParser } from '@lezer/html';
import { parser as jsonParser } from '@lezer/json';

export type Language = 'html' | 'json' | 'text';

const COLOURS = HighlightStyle.define([
  { tag: [tags.tagName, tags.propertyName], color: 'var(--color-accent)' },
  { tag: [tags.attributeName, tags.angleBracket, tags.comment, tags.meta], color: 'var(--color-soft)' },
  { tag: [tags.string, tags.attributeValue], color: 'var(--color-good)' },
  { tag: [tags.number, tags.bool, tags.null, tags.character], color: 'var(--color-warn)' },
]);

const HTML = LRLanguage.define({ name: 'html', parser: htmlParser });
const JSON_TEXT = LRLanguage.define({ name: 'json', parser: jsonParser });

export function languageOf(language: Language): Extension {
  if (language === 'json') return [JSON_TEXT, syntaxHighlighting(COLOURS)];
  return language === 'text' ? TEMPLATE_TAGS : [HTML, syntaxHighlighting(COLOURS), TEMPLATE_TAGS];
}

const TAG = new MatchDecorator({
  regexp: /\{\{[^{}\n]{0,1000}\}\}/g,
  decoration: Decoration.mark({ class: 'cm-templateTag' }),
});

const TEMPLATE_TAGS: Extension = [
  ViewPlugin.define<{ marks: DecorationSet; update(update: Parameters<typeof TAG.updateDeco>[0]): void }>(
    (view) => ({
      marks: TAG.createDeco(view),
      update(update) {
        this.marks = TAG.updateDeco(update, this.marks);
      },
    }),
    { decorations: ({ marks }) => marks },
  ),
  EditorView.baseTheme({
    '.cm-templateTag': {
      backgroundColor: 'var(--color-chosen)',
      borderRadius: '3px',
    },
    '.cm-templateTag, .cm-templateTag *': { color: 'var(--color-ink)' },
  }),
];
