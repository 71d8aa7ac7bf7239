/** What a receiver answered, or a call carried: as text, whatever it is. */
import { shownText } from './health.ts';

export function AnswerText({ text }: { text: string }) {
  return (
    <pre
      dir="ltr"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, also by keys
      tabIndex={0}
      className="mt-1 max-h-72 overflow-auto whitespace-pre-wrap rounded-md border border-line bg-page p-3 font-mono text-xs"
    >
      {shownText(text)}
    </pre>
  );
}
