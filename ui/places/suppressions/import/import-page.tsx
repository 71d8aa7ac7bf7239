/**
 * Brings addresses of a file onto the list: the file, what its columns and words mean, the first rows as they would be stored
 * and what would be refused; then all of them in portions. Nothing is sent before the last step.
 */
import { Link } from '@tanstack/react-router';
import { ArrowLeft } from 'lucide-react';
import { useMemo, useState } from 'react';
import {
  type ImportSheet,
  type ImportWishes,
  planImport,
} from '../../../../src/policy/suppressions/import-file.ts';
import { Page, Section } from '../../../components/page.tsx';
import { SenderDomain, useFirstDomain } from '../../../components/sender-domain.tsx';
import { WHOSE_LIST } from '../reasons.ts';
import { FileChoice } from './file-choice.tsx';
import { Mapping } from './mapping.tsx';
import { PlanPreview } from './plan-preview.tsx';
import { SendPlan } from './send-plan.tsx';

const NO_WISHES: ImportWishes = { reason: 'Manual', columns: {}, words: new Map() };

export function ImportPage() {
  const first = useFirstDomain();
  const [chosen, setDomain] = useState<string | null>(null);
  const domain = chosen ?? first;
  const [sheet, setSheet] = useState<ImportSheet | null>(null);
  const [wishes, setWishes] = useState(NO_WISHES);
  const plan = useMemo(
    () => (sheet === null ? null : planImport(sheet, wishes, Date.now())),
    [sheet, wishes],
  );
  return (
    <Page
      title={
        <span className="flex items-center gap-2">
          <Link
            to="/suppressions"
            aria-label="Back to the suppressions"
            title="Back to the suppressions"
            className="grid size-8 shrink-0 place-items-center rounded-md text-soft hover:bg-hover hover:text-ink"
          >
            <ArrowLeft size={16} aria-hidden />
          </Link>
          Import suppressions
        </span>
      }
    >
      <Section title="1. The file">
        <div className="grid max-w-3xl items-start gap-4 min-[44rem]:grid-cols-2">
          <FileChoice
            onSheet={(next) => {
              setSheet(next);
              setWishes(NO_WISHES);
            }}
          />
          <SenderDomain value={domain} hint={WHOSE_LIST} onValue={setDomain} />
        </div>
      </Section>
      {sheet !== null && plan !== null && (
        <>
          <Section title="2. What its columns mean">
            <Mapping sheet={sheet} plan={plan} wishes={wishes} onWishes={setWishes} />
          </Section>
          <Section title="3. What would be stored">
            <PlanPreview plan={plan} />
          </Section>
          <Section title="4. Store it">
            <SendPlan plan={plan} domain={domain} />
          </Section>
        </>
      )}
    </Page>
  );
}
