/** A sentence of the server, what stands in backticks as code. */
export function Sentence({ text }: { text: string }) {
  return text.split('`').map((part, place) =>
    place % 2 === 0 ? (
      part
    ) : (
      // biome-ignore lint/suspicious/noArrayIndexKey: a part is its place
      <code key={place} className="font-mono text-xs">
        {part}
      </code>
    ),
  );
}
