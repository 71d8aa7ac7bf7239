/** A sentence of the server. Text in backticks is shown as code. A long URL is cut to one line; pointing at it shows all of it. */
export function Sentence({ text }: { text: string }) {
  return text.split('`').map((part, place) =>
    place % 2 === 0 ? (
      part.split(LONG_URL).map((words, at) =>
        at % 2 === 0 ? (
          words
        ) : (
          <bdi
            // biome-ignore lint/suspicious/noArrayIndexKey: a part is its place
            key={at}
            title={words}
            className="inline-block max-w-[min(24rem,60vw)] truncate align-bottom print:whitespace-normal"
          >
            {words}
          </bdi>
        ),
      )
    ) : (
      // biome-ignore lint/suspicious/noArrayIndexKey: a part is its place
      <code key={place} className="font-mono text-xs">
        {part}
      </code>
    ),
  );
}

/** Without the punctuation of the sentence after it. */
const LONG_URL = /(https?:\/\/[^\s]{60,}[^\s.,;:)”])/;
