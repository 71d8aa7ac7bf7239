/** Shows the dialog that asks for a proof of who one is, whenever a request needs one. */
import { lazy, useEffect, useState } from 'react';
import { onProofRequired } from '../api/call.ts';
import { LazyPart } from '../components/missing.tsx';

const ProofDialog = lazy(() => import('../places/sign-in/proof-dialog.tsx'));

export function Proof() {
  const [asked, setAsked] = useState<((isProven: boolean) => void) | null>(null);
  useEffect(() => onProofRequired(() => new Promise((resolve) => setAsked(() => resolve))), []);
  // Of a page that is taken away nobody proves anything any more.
  useEffect(() => () => asked?.(false), [asked]);
  if (asked === null) return null;
  const onDone = (isProven: boolean): void => {
    asked(isProven);
    setAsked(null);
  };
  return (
    <LazyPart onClose={() => onDone(false)}>
      <ProofDialog onDone={onDone} />
    </LazyPart>
  );
}
