/** The sample variables as JSON, with what is wrong in them, and the names that the texts ask for in vain. */
import { Button } from '../../components/button.tsx';
import { CodePart } from './code-part.tsx';
import type { Sample } from './use-sample.ts';

const NONE = [] as const;

export function SampleView({ sample }: { sample: Sample }) {
  const { text, read, rendering, setText } = sample;
  const asked = rendering.data?.Variables ?? NONE;
  const refused = rendering.problems.find(({ Field }) => Field === '/Variables')?.Message;
  const problems = read.ok ? NONE : [read];
  return (
    <>
      <CodePart
        label="Sample data"
        language="json"
        value={text}
        isReadOnly={false}
        problems={problems}
        onValue={setText}
      />
      {refused !== undefined && (
        <p role="alert" className="shrink-0 border-line border-t bg-bad-fill px-4 py-1.5 text-bad text-xs">
          {refused}
        </p>
      )}
      <div className="grid max-h-48 shrink-0 gap-1 overflow-y-auto border-line border-t px-4 py-2 text-xs">
        <MissingNames sample={sample} />
        <p className="text-soft">
          {asked.length === 0 ? 'The texts ask for no variables.' : 'The texts ask for '}
          <Names list={asked} />
          {asked.length > 0 && '. '}
          These values stay in this browser.
        </p>
      </div>
    </>
  );
}

/** Those that the texts ask for and the sample does not give, with the button that adds them. */
export function MissingNames({ sample: { read, rendering, add } }: { sample: Sample }) {
  const missing = rendering.data?.Missing ?? NONE;
  if (missing.length === 0 || !read.ok) return null;
  return (
    <div className="flex flex-wrap items-center gap-x-3 gap-y-1 text-xs">
      <span className="min-w-0 flex-1 basis-40 text-warn">
        Missing, shown as nothing: <Names list={missing} />
      </span>
      <Button onClick={() => add(missing)}>Add to the sample</Button>
    </div>
  );
}

function Names({ list }: { list: readonly string[] }) {
  return list.map((name, place) => (
    <span key={name}>
      {place > 0 && ', '}
      <bdi className="font-mono">{name}</bdi>
    </span>
  ));
}
