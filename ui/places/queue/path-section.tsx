/** One path towards a site: whether mail goes, its connections, what was said last, its limits and what was learned. */
import type { ReactNode } from 'react';
import type { Override, Path, PathWord } from '../../../src/client/api-types.ts';
import { liftOverride } from '../../api/queue.ts';
import { Button } from '../../components/button.tsx';
import { countText } from '../../components/count.ts';
import { Section } from '../../components/page.tsx';
import { Ago, Until } from '../../components/time.tsx';
import { useLeaving, useRemoval } from '../../components/use-removal.ts';
import { LimitsTable } from './limits-table.tsx';
import { reasonText } from './reason-words.ts';

const STATES = {
  closed: ['Mail goes', 'text-good'],
  open: ['Nothing goes', 'text-bad'],
  'half-open': ['One message at a time, until one is taken', 'text-warn'],
} as const;

export function PathSection({ path, isOnly }: { path: Path; isOnly: boolean }) {
  // Neither is a matter of its circuit breaker.
  const isStopped = path.WaitsFor === 'suspended' || path.WaitsFor === 'no-node';
  const [state, colour] = STATES[isStopped ? 'open' : path.State];
  const from = path.Source === '' ? '' : ` from ${path.Source}`;
  return (
    <Section
      title={isOnly && from === '' ? 'Path' : `Path ${path.Site}${from}`}
      aside={path.Provider === null ? undefined : `provider ${path.Provider}`}
    >
      <p>
        <span className={`font-semibold ${colour}`}>{state}</span>
        {path.Reason !== null && <>: {reasonText(path.Reason)}</>}
        {path.WaitsUntil !== null && (
          <>
            {' '}
            · <Until at={path.WaitsUntil} before="ends" after="ended" />
          </>
        )}
      </p>
      <dl className="grid grid-cols-2 gap-x-6 gap-y-2 min-[44rem]:grid-cols-4">
        <Fact name="Connections">
          {path.Connections.Open} open, {path.Connections.Busy} busy
        </Fact>
        <Fact name="Allowed at present">{countText(Math.round(path.Window))}</Fact>
        <Fact name="Being sent">{countText(path.InFlight)}</Fact>
        <Fact name="In memory">
          {countText(path.Waiting.critical + path.Waiting.normal + path.Waiting.bulk)}
        </Fact>
      </dl>
      <dl className="grid gap-2">
        <Word name="Last success" word={path.LastSuccess} />
        <Word name="Last failure" word={path.LastFailure} />
      </dl>
      <Overrides overrides={path.Overrides} />
      <details>
        <summary className="py-1 text-accent">Limits now, and where each comes from</summary>
        <LimitsTable limits={path.Limits} />
      </details>
    </Section>
  );
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div>
      <dt className="text-soft text-xs">{name}</dt>
      <dd className="tabular-nums">{children}</dd>
    </div>
  );
}

function Word({ name, word }: { name: string; word: PathWord | null }) {
  if (word === null) return null;
  return (
    <div>
      <dt className="text-soft text-xs">
        {name}, <Ago at={word.At} />
      </dt>
      <dd className="font-mono text-xs" dir="ltr">
        {word.Text === '' ? 'no text' : word.Text}
      </dd>
    </div>
  );
}

function Overrides({ overrides }: { overrides: readonly Override[] }) {
  const leaving = useLeaving<string>(['queue']);
  const remove = useRemoval<string>(['queue']);
  const shown = overrides.filter(({ OverrideID }) => !leaving.has(OverrideID));
  if (shown.length === 0) return null;
  const lift = ({ OverrideID, Param }: Override): void =>
    remove(OverrideID, `${Param} is lifted`, (isLeaving) => liftOverride(OverrideID, isLeaving));
  return (
    <ul aria-label="What was learned" className="grid border-line border-t">
      {shown.map((override) => (
        <li
          key={override.OverrideID}
          className="flex flex-wrap items-center gap-x-4 gap-y-1 border-line border-b py-2"
        >
          <div className="min-w-0 flex-1 basis-60">
            <p>
              <code className="font-mono text-xs">{override.Param}</code> is {override.Value},{' '}
              <Until at={override.Until} before="ends" after="ended" />
            </p>
            <p className="text-soft">{override.Why}</p>
          </div>
          <Button onClick={() => lift(override)}>Lift</Button>
        </li>
      ))}
    </ul>
  );
}
