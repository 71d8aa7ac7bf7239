/** Two texts beside each other with what differs; where there is no room for two, one with what came and what went. */
import { MergeView, unifiedMergeView } from '@codemirror/merge';
import { EditorState } from '@codemirror/state';
import { EditorView, lineNumbers } from '@codemirror/view';
import { useEffect, useRef } from 'react';
import { look } from './create-editor.ts';
import { type Language, languageOf } from './languages.ts';

/** Time that looking for the smallest difference may take, in milliseconds; a longer one is shown coarser. */
const DIFF_MS = 200;
const FOLDS = { margin: 3, minSize: 6 };

export function CodeDiff({
  label,
  language,
  before,
  after,
  isWide,
}: {
  label: string;
  language: Language;
  before: string;
  after: string;
  isWide: boolean;
}) {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const host = document.createElement('div');
    box.current?.append(host);
    const root = host.attachShadow({ mode: 'open' });
    const extensions = (name: string) => [
      ...look(),
      DIFF_LOOK,
      lineNumbers(),
      languageOf(language),
      EditorState.readOnly.of(true),
      EditorView.contentAttributes.of({ 'aria-label': `${label}, ${name}`, tabindex: '0' }),
    ];
    const diffConfig = { scanLimit: 1_000, timeout: DIFF_MS };
    const view = isWide
      ? new MergeView({
          root,
          parent: root,
          a: { doc: before, extensions: extensions('before') },
          b: { doc: after, extensions: extensions('after') },
          collapseUnchanged: FOLDS,
          gutter: true,
          diffConfig,
        })
      : new EditorView({
          root,
          parent: root,
          doc: after,
          extensions: [
            ...extensions('with what went'),
            unifiedMergeView({
              original: before,
              mergeControls: false,
              collapseUnchanged: FOLDS,
              gutter: true,
              diffConfig,
            }),
          ],
        });
    return () => {
      view.destroy();
      host.remove();
    };
  }, [label, language, before, after, isWide]);
  return <div ref={box} data-takes-keys className="overflow-hidden rounded-md border border-line" />;
}

const DIFF_LOOK = EditorView.theme({
  '&': { height: 'auto' },
  '&.cm-merge-b': { borderLeft: '1px solid var(--color-line)' },
  '&.cm-merge-a .cm-changedLine, .cm-deletedChunk': { backgroundColor: 'var(--color-bad-fill)' },
  '&.cm-merge-b .cm-changedLine': {
    backgroundColor: 'color-mix(in srgb, var(--color-good) 14%, transparent)',
  },
  '&.cm-merge-a .cm-changedText, .cm-deletedChunk .cm-deletedText': {
    background: 'color-mix(in srgb, var(--color-bad) 26%, transparent)',
  },
  '&.cm-merge-b .cm-changedText, .cm-changedText': {
    background: 'color-mix(in srgb, var(--color-good) 26%, transparent)',
  },
  '.cm-collapsedLines': {
    background: 'var(--color-hover)',
    color: 'var(--color-soft)',
    padding: '4px 12px',
    '&:before, &:after': { content: 'none' },
  },
});
