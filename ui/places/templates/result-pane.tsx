/** What a mail by this template would be: its subject, and its HTML or its text with the sample variables. */
import { TriangleAlert } from 'lucide-react';
import { useEffect, useState } from 'react';
import { DraftPreview } from '../../components/mail/draft-preview.tsx';
import { drawable } from '../../components/mail/drawable.ts';
import { Segments } from '../../components/segments.tsx';
import { MissingNames } from './sample-view.tsx';
import type { Draft } from './use-draft.ts';
import type { Sample } from './use-sample.ts';

type Part = 'html' | 'text';

export function ResultPane({
  draft,
  sample,
  follows,
  withMissing,
}: {
  draft: Draft;
  sample: Sample;
  /** The part that is being written: it is the one that is shown. */
  follows: Part;
  /** Nothing else in sight says what is missing. */
  withMissing: boolean;
}) {
  const [part, setPart] = useState<Part>(follows);
  useEffect(() => setPart(follows), [follows]);
  const { data, error, problems } = sample.rendering;
  const isOld = problems.length > 0 || !sample.read.ok;
  return (
    <>
      <div className="flex min-h-12.5 shrink-0 items-center gap-3 border-line border-b px-4 py-2">
        <p className="min-w-0 flex-1 font-semibold">
          <span className="sr-only">Subject: </span>
          <bdi>{data?.Subject ?? (draft.texts.Subject === '' ? <NoSubject /> : '')}</bdi>
        </p>
        <Segments
          label="Part"
          value={part}
          onValue={(next: Part) => setPart(next)}
          choices={[
            { value: 'html', name: 'HTML' },
            { value: 'text', name: 'Text' },
          ]}
        />
      </div>
      {(isOld || error !== null) && (
        <p
          role="status"
          className="flex shrink-0 items-center gap-2 border-line border-b bg-warn-fill px-4 py-1.5 text-xs"
        >
          <TriangleAlert size={14} aria-hidden className="shrink-0 text-warn" />
          {error === null
            ? `${whatIsWrong(sample)}. This is how it was before.`
            : `The preview cannot be made now: ${error.message}.`}
        </p>
      )}
      {withMissing && !isOld && (data?.Missing.length ?? 0) > 0 && (
        <div className="max-h-24 shrink-0 overflow-y-auto border-line border-b px-4 py-1.5">
          <MissingNames sample={sample} />
        </div>
      )}
      {part === 'html' ? (
        data?.HTMLContent ? (
          <DraftPreview html={data.HTMLContent} note="Links lead nowhere in the preview" />
        ) : (
          <p className="p-4 text-soft">{data !== undefined && 'No HTML: a request can give it.'}</p>
        )
      ) : (
        <pre
          dir="auto"
          // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, also by keys
          tabIndex={0}
          className="min-h-0 flex-1 overflow-auto whitespace-pre-wrap p-4 font-mono text-xs"
        >
          {data?.PlainContent != null ? (
            drawable(data.PlainContent)
          ) : (
            <span className="font-sans text-soft text-sm">
              No plain text: it is made from the HTML when a mail is sent.
            </span>
          )}
        </pre>
      )}
    </>
  );
}

function NoSubject() {
  return <span className="font-normal text-soft">Each request gives its subject</span>;
}

function whatIsWrong({ read, rendering }: Sample): string {
  if (!read.ok) return 'The sample data is not JSON';
  const field = rendering.problems[0]?.Field;
  if (field === '/Variables') return 'These sample data do not fit the texts';
  const part = { '/Subject': 'subject', '/HTMLContent': 'HTML', '/PlainContent': 'plain text' }[field ?? ''];
  return part === undefined ? 'The texts cannot be filled in' : `There is a mistake in the ${part}`;
}
