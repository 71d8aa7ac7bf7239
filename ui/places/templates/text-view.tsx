/** One text of a template in its editor, and below it what is wrong, each with the way to its place. */
import { CodePart } from './code-part.tsx';
import type { Draft } from './use-draft.ts';
import type { Rendering } from './use-rendering.ts';

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
    <CodePart
      label={label}
      language={language}
      value={value}
      isReadOnly={isReadOnly}
      problems={places}
      onValue={(text) => draft.change({ [part]: text })}
    >
      {value === '' && <p className="shrink-0 border-line border-t px-4 py-1.5 text-soft text-xs">{empty}</p>}
    </CodePart>
  );
}
