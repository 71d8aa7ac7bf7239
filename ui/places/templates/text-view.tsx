/** One text of a template in its editor, and below it what is wrong, each with the way to its place. */
import { lazy, Suspense, useRef } from 'react';
import type { CodeEditorHandle } from '../../components/code/code-editor.tsx';
import { Problems } from './problems.tsx';
import type { Draft } from './use-draft.ts';
import type { Rendering } from './use-rendering.ts';

const CodeEditor = lazy(() =>
  import('../../components/code/code-editor.tsx').then((one) => ({ default: one.CodeEditor })),
);

const PARTS = {
  HTMLContent: { label: 'HTML', language: 'html', empty: 'No HTML: a request can give it.' },
  PlainContent: {
    label: 'Plain text',
    language: 'text',
    empty: 'No plain text: it is made from the HTML when a mail is sent.',
  },
} as const;

export function TextView({
  part,
  draft,
  rendering,
  isReadOnly,
}: {
  part: keyof typeof PARTS;
  draft: Draft;
  rendering: Rendering;
  isReadOnly: boolean;
}) {
  const editor = useRef<CodeEditorHandle>(null);
  const { label, language, empty } = PARTS[part];
  const value = draft.texts[part];
  const problems = rendering.problems.filter(({ Field }) => Field === `/${part}`);
  const places = problems.map(({ Message, Line = 1, Column = 1 }) => ({
    line: Line,
    column: Column,
    // The part and the place stand beside it already.
    message: Message.replace(/^\w{1,20} of the template, line \d{1,9}, column \d{1,9}: /, ''),
  }));
  return (
    <>
      <Suspense fallback={<p className="flex-1 p-4 text-soft">Loading the editor…</p>}>
        <CodeEditor
          ref={editor}
          label={label}
          language={language}
          value={value}
          isReadOnly={isReadOnly}
          problems={places}
          onValue={(text) => draft.change({ [part]: text })}
        />
      </Suspense>
      {value === '' && <p className="shrink-0 border-line border-t px-4 py-1.5 text-soft text-xs">{empty}</p>}
      <Problems list={places} onGo={(place) => editor.current?.goTo(place)} />
    </>
  );
}
