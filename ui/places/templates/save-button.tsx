/** Stores the texts as a new version; Ctrl-S does the same. */
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { ApiError } from '../../api/call.ts';
import { changeTemplate, TEMPLATES, templateKey } from '../../api/templates.ts';
import { Button } from '../../components/button.tsx';
import { toast, toastError } from '../../components/toasts.tsx';
import type { Draft, Texts } from './use-draft.ts';

const CHANGED_MEANWHILE = 2106;

export function SaveButton({ id, draft, onConflict }: { id: string; draft: Draft; onConflict(): void }) {
  const queries = useQueryClient();
  const saving = useMutation({
    mutationFn: () => changeTemplate(id, { ...given(draft.texts), Version: draft.base.version }),
    onSuccess(template) {
      queries.setQueryData(templateKey(id), template);
      void queries.invalidateQueries({ queryKey: [...TEMPLATES, 'list'] });
      draft.reset(template);
      toast({ text: `Saved as version ${template.Version}` });
    },
    onError(error) {
      const isBehind =
        error instanceof ApiError && error.problems.some(({ Code }) => Code === CHANGED_MEANWHILE);
      // What to do is said above the texts, once the newer version is here.
      if (isBehind) onConflict();
      else toastError(error);
    },
  });
  const isEmpty = Object.keys(given(draft.texts)).length === 0;
  const isOff = !draft.isChanged || draft.isBehind || isEmpty || saving.isPending;
  const save = useRef(() => {});
  save.current = () => {
    if (!isOff) saving.mutate();
  };
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (!(event.ctrlKey || event.metaKey) || event.altKey || event.key.toLowerCase() !== 's') return;
      event.preventDefault();
      save.current();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
  return (
    <Button
      look="main"
      isBusy={isOff}
      title={isEmpty ? 'A template holds at least one text' : 'Save as a new version (Ctrl S)'}
      aria-keyshortcuts="Control+S"
      onClick={() => save.current()}
    >
      {saving.isPending ? 'Saving…' : 'Save'}
    </Button>
  );
}

/** Without the parts that are empty. */
function given(texts: Texts): Partial<Texts> {
  return Object.fromEntries(Object.entries(texts).filter(([, text]) => text !== ''));
}
