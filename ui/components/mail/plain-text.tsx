/** The text part of a mail. */
import { drawable, MOST_DRAWN } from './drawable.ts';

export function PlainText({ text }: { text: string }) {
  return (
    <>
      {text.length > MOST_DRAWN && (
        <p className="px-4 pt-3 text-soft">The first 256 KiB are shown; “Source” has a link to all of it.</p>
      )}
      <pre dir="auto" className="whitespace-pre-wrap p-4 font-mono">
        {drawable(text)}
      </pre>
    </>
  );
}
