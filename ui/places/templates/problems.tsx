/** What is wrong with a text, each with the way to its place. Said to screen readers as it changes. */
import { CircleAlert } from 'lucide-react';
import type { CodePosition } from '../../components/code/create-editor.ts';

export function Problems({
  list,
  onGo,
}: {
  list: readonly (CodePosition & { message: string })[];
  onGo(place: CodePosition): void;
}) {
  return (
    <div role="status" className="max-h-40 shrink-0 overflow-y-auto">
      {list.map((one) => (
        <button
          key={`${one.line} ${one.column} ${one.message}`}
          type="button"
          onClick={() => onGo(one)}
          className="flex w-full items-start gap-2 border-line border-t bg-bad-fill px-4 py-1.5 text-left text-bad text-xs -outline-offset-2 hover:underline"
        >
          <CircleAlert size={14} aria-hidden className="mt-0.5 shrink-0" />
          <span className="min-w-0">
            Line {one.line}, column {one.column}: {one.message}
          </span>
        </button>
      ))}
    </div>
  );
}
