/** Replaces a token by a new one of the same rights; the old one goes on for a while, so that programs can be changed. */
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { Token } from '../../../../src/client/api-types.ts';
import { rotateToken } from '../../../api/access.ts';
import { Dialog, DialogForm } from '../../../components/dialog.tsx';
import { Options, SelectField } from '../../../components/field.tsx';
import { ShownOnce } from '../../../components/shown-once.tsx';
import { Until } from '../../../components/time.tsx';
import { TOKENS } from '../keys.ts';

const OVERLAPS = [
  ['0', 'ends at once'],
  ['3600', 'is valid for an hour'],
  ['86400', 'is valid for a day'],
  ['604800', 'is valid for a week'],
] as const;

export function RotateDialog({ token, onClose }: { token: Token; onClose(): void }) {
  const queries = useQueryClient();
  const [overlap, setOverlap] = useState('86400');
  const rotating = useMutation({
    mutationFn: () => rotateToken(token.TokenID, Number(overlap)),
    onSuccess: () => void queries.invalidateQueries({ queryKey: TOKENS }),
  });
  return (
    <Dialog title={`Replace ${token.Name}`} onClose={onClose}>
      {rotating.data === undefined ? (
        <DialogForm running={rotating} action="Replace" onSubmit={() => rotating.mutate()} onCancel={onClose}>
          <p>A new token with the same rights and limits takes its place.</p>
          <SelectField
            label="The old token"
            value={overlap}
            onChange={({ target }) => setOverlap(target.value)}
          >
            <Options of={OVERLAPS} />
          </SelectField>
        </DialogForm>
      ) : (
        <ShownOnce what="token" text={rotating.data.Token} onClose={onClose}>
          <p className="text-soft">
            The old token <Until at={rotating.data.PreviousValidUntil} before="ends" after="ended" isLast />
          </p>
        </ShownOnce>
      )}
    </Dialog>
  );
}
