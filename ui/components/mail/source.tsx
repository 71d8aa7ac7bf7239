/** The very bytes that would have been sent, as text: header names highlighted, the body as it travels. */
import { useQuery } from '@tanstack/react-query';
import { CopyButton } from '../copy.tsx';
import { PaneNotYet } from '../page.tsx';
import { drawableSource, MOST_DRAWN } from './drawable.ts';

/** `id` names the file that is downloaded from `url`. */
export function Source({
  id,
  url,
  read,
}: {
  id: string;
  url: string;
  read(id: string, signal: AbortSignal): Promise<string>;
}) {
  const { data, error, refetch } = useQuery({
    queryKey: ['source', id],
    queryFn: ({ signal }) => read(id, signal),
  });
  if (data === undefined) return <PaneNotYet error={error} onAgain={() => void refetch()} />;
  const { lines, body } = splitSource(drawableSource(data));
  return (
    <div className="p-4">
      <div className="mb-2 flex flex-wrap items-center gap-2">
        <CopyButton text={data} label="Copy the source" words="Copy" />
        <a href={url} download={`${id}.eml`} className="text-accent underline">
          Download
        </a>
        {data.length > MOST_DRAWN && <span className="text-soft">The first 256 KiB are shown.</span>}
      </div>
      <pre dir="ltr" className="whitespace-pre-wrap font-mono text-xs">
        {lines.map(({ name, rest }, index) => (
          <span key={`${name}${String(index)}`}>
            {name !== '' && <span className="font-semibold text-accent">{name}:</span>}
            {rest}
            {'\n'}
          </span>
        ))}
        {body}
      </pre>
    </div>
  );
}

/** Header fields by their names, folded lines with them, and what comes behind the first empty line. */
function splitSource(source: string): {
  lines: readonly { name: string; rest: string }[];
  body: string;
} {
  const text = source.replaceAll('\r\n', '\n');
  const end = text.indexOf('\n\n');
  const head = end === -1 ? text : text.slice(0, end);
  const lines = head.split('\n').map((line) => {
    const name = /^[!-9;-~]{1,200}(?=:)/.exec(line)?.[0] ?? '';
    return { name, rest: name === '' ? line : line.slice(name.length + 1) };
  });
  return { lines, body: end === -1 ? '' : text.slice(end + 1) };
}
