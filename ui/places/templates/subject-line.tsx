/** The subject of a template, with what is wrong in it. */
import { useId } from 'react';
import type { Draft } from './use-draft.ts';
import type { Rendering } from './use-rendering.ts';

export function SubjectLine({
  draft,
  rendering,
  isReadOnly,
}: {
  draft: Draft;
  rendering: Rendering;
  isReadOnly: boolean;
}) {
  const id = useId();
  const wrong = rendering.problems.find(({ Field }) => Field === '/Subject')?.Message;
  return (
    <div className="shrink-0 border-line border-b px-4 py-2">
      <div className="flex items-center gap-3">
        <label htmlFor={id} className="text-soft">
          Subject
        </label>
        <input
          id={id}
          value={draft.texts.Subject}
          readOnly={isReadOnly}
          placeholder="given by each request"
          autoComplete="off"
          aria-invalid={wrong !== undefined}
          aria-describedby={`${id}-wrong`}
          onChange={({ target }) => draft.change({ Subject: target.value })}
          className={`h-8 min-w-0 flex-1 rounded-md border bg-page px-2.5 ${wrong === undefined ? 'border-line-strong' : 'border-bad'}`}
        />
      </div>
      <p id={`${id}-wrong`} role="status" className="text-bad text-xs">
        {wrong}
      </p>
    </div>
  );
}
