/** One text as code, and below it what is wrong, each with the way to its place. Said to screen readers as it changes. */
import { CircleAlert } from 'lucide-react';
import { lazy, type ReactNode, useRef } from 'react';
import type { CodeEditorHandle, CodeEditorProps } from '../../components/code/code-editor.tsx';
import type { CodePosition } from '../../components/code/create-editor.ts';
import { LazyPart } from '../../components/missing.tsx';

const CodeEditor = lazy(() =>
  import('../../components/code/code-editor.tsx').then((one) => ({ default: one.CodeEditor })),
);

/** `children`: between the code and what is wrong in it. */
export function CodePart({
  problems,
  children,
  ...code
}: Omit<CodeEditorProps, 'ref' | 'problems'> & {
  problems: readonly (CodePosition & { message: string })[];
  children?: ReactNode;
}) {
  const editor = useRef<CodeEditorHandle>(null);
  return (
    <>
      <LazyPart waiting={<p className="flex-1 p-4 text-soft">Loading the editor…</p>}>
        <CodeEditor ref={editor} problems={problems} {...code} />
      </LazyPart>
      {children}
      <div role="status" className="max-h-40 shrink-0 overflow-y-auto">
        {problems.map((one) => (
          <button
            key={`${one.line} ${one.column} ${one.message}`}
            type="button"
            onClick={() => editor.current?.goTo(one)}
            className="flex w-full items-start gap-2 border-line border-t bg-bad-fill px-4 py-1.5 text-left text-bad text-xs -outline-offset-2 hover:underline"
          >
            <CircleAlert size={14} aria-hidden className="mt-0.5 shrink-0" />
            <span className="min-w-0">
              Line {one.line}, column {one.column}: {one.message}
            </span>
          </button>
        ))}
      </div>
    </>
  );
}
