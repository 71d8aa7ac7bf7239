/** A sentence of the server: what stands in backticks as code, a URL that would fill lines on one, whole for who points at it. */
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
            className="inline-block max-w-96 truncate align-bottom print:whitespace-normal"
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

/** Without what belongs to the sentence behind it. */
const LONG_URL = /(https?:\/\/[^\s]{60,}[^\s.,;:)”])/;
