/** Said while somebody else stored a newer version than the one that is being changed: what happened, and the ways on. */
import { useNavigate } from '@tanstack/react-router';
import { TriangleAlert } from 'lucide-react';
import type { Template } from '../../../src/client/api-types.ts';
import { Button } from '../../components/button.tsx';
import { Ago } from '../../components/time.tsx';
import type { Draft } from './use-draft.ts';

export function ConflictNotice({ template, draft }: { template: Template; draft: Draft }) {
  const navigate = useNavigate({ from: '/templates/$id' });
  const { Version, UpdatedAt } = template;
  return (
    <div
      role="alert"
      className="flex shrink-0 flex-wrap items-center gap-x-3 gap-y-2 border-line border-b bg-warn-fill px-4 py-2"
    >
      <TriangleAlert size={16} aria-hidden className="shrink-0 text-warn" />
      <p className="min-w-0 flex-1 basis-72">
        Somebody stored version {Version} <Ago at={UpdatedAt} />, while you were changing version{' '}
        {draft.base.version}. Nothing of yours is lost: compare the two, then keep one.
      </p>
      <span className="flex flex-wrap gap-2">
        <Button onClick={() => void navigate({ search: { view: 'versions', version: Version } })}>
          Compare
        </Button>
        <Button onClick={draft.keep}>Keep mine</Button>
        <Button onClick={() => draft.reset()}>Take version {Version}</Button>
      </span>
    </div>
  );
}
