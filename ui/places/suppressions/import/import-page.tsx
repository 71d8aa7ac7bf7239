/**
 * Brings addresses of a file onto the list: the file, what its columns and words mean, the first rows as they would be stored
 * and what would be refused; then all of them in portions. Nothing is sent before the last step.
 */
import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import type { ImportWishes } from '../../../../src/policy/suppressions/import-file.ts';
import { ME, mayDo } from '../../../api/me.ts';
import { Notice } from '../../../components/notice.tsx';
import { Page, Section } from '../../../components/page.tsx';
import { SenderDomain, useFirstDomain } from '../../../components/sender-domain.tsx';
import { toastError } from '../../../components/toasts.tsx';
import { WHOSE_LIST } from '../reasons.ts';
import { FileChoice } from './file-choice.tsx';
import { Mapping } from './mapping.tsx';
import type { OpenFile, ShownPlan } from './open-file.ts';
import { PlanPreview } from './plan-preview.tsx';
import { SendPlan } from './send-plan.tsx';

const NO_WISHES: ImportWishes = { reason: 'Manual', columns: {}, words: new Map() };

export function ImportPage() {
  const first = useFirstDomain();
  const [chosen, setDomain] = useState<string | null>(null);
  const domain = chosen ?? first;
  const [file, setFile] = useState<OpenFile | null>(null);
  const [wishes, setWishes] = useState(NO_WISHES);
  const [planned, setPlanned] = useState<{ file: OpenFile; wishes: ImportWishes; plan: ShownPlan } | null>(
    null,
  );
  useEffect(() => () => file?.close(), [file]);
  useEffect(() => {
    let isOver = false;
    file?.plan(wishes).then(
      (plan) => {
        if (!isOver) setPlanned({ file, wishes, plan });
      },
      (error: unknown) => {
        if (!isOver) toastError(error);
      },
    );
    return () => {
      isOver = true;
    };
  }, [file, wishes]);
  // While the rows are planned anew, the page shows what the wishes before came to, and sends nothing.
  const plan = file !== null && planned?.file === file ? planned.plan : null;
  const isOld = planned?.wishes !== wishes;
  const { data: me } = useQuery(ME);
  const page = {
    back: { to: '/suppressions', label: 'Back to the suppressions' },
    title: 'Import suppressions',
  } as const;
  if (me !== undefined && !mayDo(me, 'suppressions:write'))
    return (
      <Page {...page}>
        <Notice title="You may not do this">
          Your rights do not include changing suppressions. An operator can give them to you.
        </Notice>
      </Page>
    );
  return (
    <Page {...page}>
      <Section title="1. The file">
        <div className="grid max-w-3xl items-start gap-4 min-[44rem]:grid-cols-2">
          <FileChoice
            onFile={(next) => {
              setFile(next);
              setWishes(NO_WISHES);
            }}
          />
          <SenderDomain value={domain} hint={WHOSE_LIST} onValue={setDomain} />
        </div>
      </Section>
      {file !== null && plan !== null && (
        <>
          <Section title="2. What its columns mean">
            <Mapping names={file.names} plan={plan} wishes={wishes} onWishes={setWishes} />
          </Section>
          <Section title="3. What would be stored">
            <PlanPreview plan={plan} />
          </Section>
          <Section title="4. Store it">
            {isOld ? (
              <p className="text-soft">The rows are being read again…</p>
            ) : (
              <SendPlan file={file} plan={plan} domain={domain} />
            )}
          </Section>
        </>
      )}
    </Page>
  );
}
