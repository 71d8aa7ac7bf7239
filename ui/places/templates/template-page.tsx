/**
 * One template: its texts in an editor with a live preview beside it, or its versions. Which of them is shown stands in the
 * address.
 */
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { Template, TextsRendering } from '../../../src/client/api-types.ts';
import { ME, mayDo } from '../../api/me.ts';
import { SESSION } from '../../api/session.ts';
import { getTemplate, templateKey } from '../../api/templates.ts';
import { BackLink } from '../../components/back-link.tsx';
import { OfflineBanner } from '../../components/offline-banner.tsx';
import { NotYet, Title } from '../../components/page.tsx';
import { usePageTitle } from '../../components/page-title.ts';
import { Segments } from '../../components/segments.tsx';
import { Ago } from '../../components/time.tsx';
import { useKeys } from '../../components/use-keys.ts';
import { useLive } from '../../components/use-live.ts';
import { ConflictNotice } from './conflict-notice.tsx';
import { EditView } from './edit-view.tsx';
import { LeaveQuestion } from './leave-question.tsx';
import { SaveButton } from './save-button.tsx';
import { TemplateMenu } from './template-menu.tsx';
import { TestButton } from './test-dialog.tsx';
import { useDraft } from './use-draft.ts';
import { type Sample, useSample } from './use-sample.ts';
import { VersionsView } from './versions-view.tsx';

const EVERY_MS = 15_000;

export function TemplatePage() {
  const { id } = useParams({ from: '/templates/$id' });
  const navigate = useNavigate();
  const { data, error, again } = useLive(
    templateKey(id),
    (signal) => getTemplate(id, undefined, signal),
    EVERY_MS,
  );
  useKeys({ u: () => void navigate({ to: '/templates' }) });
  return (
    <main className="flex h-full flex-col overflow-y-auto bg-surface">
      <OfflineBanner error={error} />
      {data === undefined ? (
        <div className="p-4">
          <NotYet error={error} onAgain={again} />
        </div>
      ) : (
        <OpenTemplate key={data.TemplateID} template={data} again={again} />
      )}
    </main>
  );
}

function OpenTemplate({ template, again }: { template: Template; again(): void }) {
  const { view } = useSearch({ from: '/templates/$id' });
  const navigate = useNavigate({ from: '/templates/$id' });
  const { data: me } = useQuery(ME);
  const mayChange = mayDo(me, 'templates:write');
  const person = useQuery(SESSION).data?.Person?.PersonID ?? '';
  const key = `${template.TemplateID} ${person}`;
  const draft = useDraft(template, key);
  const sample = useSample(key, draft.texts);
  return (
    <>
      <Head template={template} version={draft.base.version} isChanged={draft.isChanged}>
        <Segments
          label="What is shown"
          value={view ?? 'texts'}
          onValue={(next) => void navigate({ search: next === 'texts' ? {} : { view: next } })}
          choices={[
            { value: 'texts', name: mayChange ? 'Edit' : 'Texts' },
            { value: 'versions', name: 'Versions' },
          ]}
        />
        <span className="ml-auto flex flex-wrap items-center gap-2">
          {mayDo(me, 'email:send') && <TestButton template={template} filled={shownIn(sample)} />}
          {mayChange && <SaveButton id={template.TemplateID} draft={draft} onConflict={again} />}
          <TemplateMenu
            template={template}
            sample={sample}
            mayChange={mayChange}
            onDelete={() => draft.reset()}
          />
        </span>
      </Head>
      {draft.isBehind && <ConflictNotice template={template} draft={draft} />}
      {view === 'versions' ? (
        <VersionsView template={template} draft={draft} mayChange={mayChange} />
      ) : (
        <EditView draft={draft} sample={sample} mayChange={mayChange} />
      )}
      <LeaveQuestion draft={draft} />
    </>
  );
}

/** What the preview shows, unless that is how it was before a mistake. */
function shownIn({ read, rendering }: Sample): TextsRendering | undefined {
  return read.ok && rendering.problems.length === 0 ? rendering.data : undefined;
}

function Head({
  template,
  version,
  isChanged,
  children,
}: {
  template: Template;
  version: number;
  isChanged: boolean;
  children: ReactNode;
}) {
  usePageTitle(template.Name);
  return (
    <header className="flex shrink-0 flex-wrap items-center gap-x-2 gap-y-2 border-line border-b min-[44rem]:gap-x-4 px-4 py-2.5">
      <div className="flex min-w-0 items-start gap-2">
        <BackLink to="/templates" label="Back to the templates" keys="u" />
        <div className="min-w-0">
          <Title className="line-clamp-2 font-semibold text-lg">
            <bdi>{template.Name}</bdi>
          </Title>
          <p className="text-soft text-xs">
            <bdi>{template.Domain}</bdi> · version {version},{' '}
            {isChanged ? (
              <span className="text-warn">not saved yet</span>
            ) : (
              <>
                changed <Ago at={template.UpdatedAt} />
              </>
            )}
          </p>
        </div>
      </div>
      {children}
    </header>
  );
}
