/** The versions of a template: each beside the newest, or beside what is not saved yet, and the way back to one. */
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { RotateCcw } from 'lucide-react';
import type { Template } from '../../../src/client/api-types.ts';
import { getTemplate, TEMPLATES } from '../../api/templates.ts';
import { Button } from '../../components/button.tsx';
import { NotYet } from '../../components/page.tsx';
import { Ago } from '../../components/time.tsx';
import { toast } from '../../components/toasts.tsx';
import { type Draft, textsOf } from './use-draft.ts';
import { VersionDiff } from './version-diff.tsx';

export function VersionsView({
  template,
  draft,
  mayChange,
}: {
  template: Template;
  draft: Draft;
  mayChange: boolean;
}) {
  const { version } = useSearch({ from: '/templates/$id' });
  const navigate = useNavigate({ from: '/templates/$id' });
  const versions = template.Versions;
  // The newest has nothing newer to stand beside but what is not saved.
  const compared = draft.isChanged ? versions : versions.slice(1);
  const chosen = version ?? compared[0]?.Version;
  const shown = useQuery({
    queryKey: [...TEMPLATES, 'version', template.TemplateID, chosen],
    queryFn: ({ signal }) => getTemplate(template.TemplateID, chosen, signal),
    enabled: chosen !== undefined,
    staleTime: Number.POSITIVE_INFINITY,
  });
  const restore = (old: Template): void => {
    draft.change(textsOf(old));
    toast({ text: `The texts of version ${old.Version} are here: save them as a new version` });
    void navigate({ search: {} });
  };
  if (chosen === undefined)
    return (
      <p className="p-6 text-soft">
        There is one version so far. Each time the texts are saved there is another, and older ones can be
        compared and restored here.
      </p>
    );
  const after = draft.isChanged ? 'what is not saved' : `version ${template.Version}`;
  return (
    <div className="flex min-h-80 flex-1 flex-col min-[54rem]:flex-row">
      <nav
        aria-label="Versions"
        className="max-h-36 shrink-0 overflow-y-auto border-line border-b p-2 min-[54rem]:max-h-none min-[54rem]:w-56 min-[54rem]:border-r min-[54rem]:border-b-0"
      >
        {compared.map(({ Version, CreatedAt }) => (
          <button
            key={Version}
            type="button"
            aria-current={Version === chosen ? 'true' : undefined}
            onClick={() => void navigate({ search: { view: 'versions', version: Version } })}
            className="flex min-h-8 w-full items-baseline justify-between gap-2 rounded-md px-2 py-1 text-left hover:bg-hover aria-[current]:bg-chosen"
          >
            Version {Version}
            <Ago at={CreatedAt} className="text-soft text-xs" />
          </button>
        ))}
        {versions.length === 100 && <p className="px-2 py-1 text-soft text-xs">The newest 100.</p>}
      </nav>
      <div className="min-h-0 min-w-0 flex-1 overflow-y-auto">
        <div className="grid gap-4 p-4 min-[44rem]:px-6">
          <div className="flex min-h-8 flex-wrap items-center gap-x-4 gap-y-2">
            <h2 className="font-semibold text-base">
              From version {chosen} to {after}
            </h2>
            {mayChange && shown.data !== undefined && chosen !== template.Version && (
              <Button className="ml-auto" onClick={() => shown.data && restore(shown.data)}>
                <RotateCcw size={14} aria-hidden /> Restore version {chosen}
              </Button>
            )}
          </div>
          {shown.data === undefined ? (
            <NotYet error={shown.error} onAgain={() => void shown.refetch()} />
          ) : (
            <VersionDiff before={textsOf(shown.data)} after={draft.texts} />
          )}
        </div>
      </div>
    </div>
  );
}
