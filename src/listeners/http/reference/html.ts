/** Text for a page: whatever comes from outside a template is escaped, and code marks become code. */
import { escapeHtml } from '../../../lib/escape-html.ts';

/** Paragraphs with `code`, of the little Markdown that the document's sentences hold. */
export function prose(text: string): string {
  return text
    .split(/\n{2,}/)
    .map((paragraph) => `<p>${inline(paragraph)}</p>`)
    .join('');
}

/** One line of it. */
export function inline(text: string): string {
  return escapeHtml(text).replace(/`([^`]+)`/g, '<code>$1</code>');
}
