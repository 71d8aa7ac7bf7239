/** What differs between two versions of the texts, part by part. */
import { lazy } from 'react';
import { useMedia } from '../../components/media.ts';
import { LazyPart } from '../../components/missing.tsx';
import { Section } from '../../components/page.tsx';
import type { Texts } from './use-draft.ts';

const CodeDiff = lazy(() =>
  import('../../components/code/code-diff.tsx').then((one) => ({ default: one.CodeDiff })),
);
const SIDE_BY_SIDE = '(min-width: 64rem)';

const PARTS = [
  { part: 'Subject', name: 'Subject', language: 'text' },
  { part: 'HTMLContent', name: 'HTML', language: 'html' },
  { part: 'PlainContent', name: 'Plain text', language: 'text' },
] as const;

export function VersionDiff({ before, after }: { before: Texts; after: Texts }) {
  const isWide = useMedia(SIDE_BY_SIDE);
  const changed = PARTS.filter(({ part }) => before[part] !== after[part]);
  if (changed.length === 0) return <p className="text-soft">The texts are the same.</p>;
  const same = PARTS.filter(({ part }) => before[part] === after[part]).map(({ name }) => name);
  return (
    <>
      {changed.map(({ part, name, language }) => (
        <Section key={part} title={name}>
          <LazyPart waiting={<p className="text-soft">Loading…</p>}>
            <CodeDiff
              label={name}
              language={language}
              before={before[part]}
              after={after[part]}
              isWide={isWide}
            />
          </LazyPart>
        </Section>
      ))}
      {same.length > 0 && <p className="text-soft">The same in both: {same.join(', ')}.</p>}
    </>
  );
}
