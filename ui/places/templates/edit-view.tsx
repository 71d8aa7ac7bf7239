/**
 * The texts of a template and what they become. Side by side where there is room; elsewhere the preview is one more tab.
 */
import { useState } from 'react';
import { useMedia } from '../../components/media.ts';
import { Tabs } from '../../components/tabs.tsx';
import { ResultPane } from './result-pane.tsx';
import { SampleView } from './sample-view.tsx';
import { SubjectLine } from './subject-line.tsx';
import { TextView } from './text-view.tsx';
import type { Draft } from './use-draft.ts';
import type { Sample } from './use-sample.ts';

const SIDE_BY_SIDE = '(min-width: 64rem)';

export function EditView({ draft, sample, mayChange }: { draft: Draft; sample: Sample; mayChange: boolean }) {
  const isWide = useMedia(SIDE_BY_SIDE);
  const [chosen, setTab] = useState(() =>
    draft.texts.HTMLContent === '' && draft.texts.PlainContent !== '' ? 'text' : 'html',
  );
  const tab = isWide && chosen === 'preview' ? 'html' : chosen;
  const { rendering } = sample;
  const common = { draft, rendering, isReadOnly: !mayChange };
  const result = (
    <ResultPane
      draft={draft}
      sample={sample}
      follows={tab === 'text' ? 'text' : 'html'}
      withMissing={tab !== 'sample'}
    />
  );
  return (
    <div className={`min-h-80 flex-1 ${isWide ? 'grid grid-cols-2 divide-x divide-line' : 'flex flex-col'}`}>
      <div className="flex min-h-0 min-w-0 flex-1 flex-col">
        <SubjectLine {...common} />
        <Tabs
          label="Parts of the template"
          value={tab}
          onValue={setTab}
          tabs={[
            { value: 'html', name: 'HTML', view: () => <TextView part="HTMLContent" {...common} /> },
            { value: 'text', name: 'Plain text', view: () => <TextView part="PlainContent" {...common} /> },
            {
              value: 'sample',
              name: 'Sample data',
              count: rendering.data?.Missing.length ?? 0,
              view: () => <SampleView sample={sample} />,
            },
            ...(isWide ? [] : [{ value: 'preview', name: 'Preview', view: () => result }]),
          ]}
        />
      </div>
      {isWide && (
        <section aria-label="Preview" className="flex min-h-0 min-w-0 flex-col">
          {result}
        </section>
      )}
    </div>
  );
}
