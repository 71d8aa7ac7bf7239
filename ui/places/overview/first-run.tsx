/** The steps to the first delivered mail, while some are not done; once all were, nothing is asked again in this browser. */
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Circle, CircleCheck } from 'lucide-react';
import { getFirstFacts } from '../../api/overview.ts';
import { CodeBlock } from '../../components/copy.tsx';
import { Section } from '../../components/page.tsx';
import { firstSteps } from './first-steps.ts';

const KEY = 'postrider.first-run';
const EVERY_MS = 30_000;

/** The facts; undefined once all steps were done. */
export function useFirstFacts() {
  const wasDone = localStorage.getItem(KEY) === 'done';
  return useQuery({
    queryKey: ['first-run'],
    queryFn: ({ signal }) => getFirstFacts(signal),
    enabled: !wasDone,
    refetchInterval: EVERY_MS,
  }).data;
}

export function FirstRun() {
  const data = useFirstFacts();
  if (data === undefined) return null;
  const steps = firstSteps(data);
  const left = steps.filter(({ done }) => !done);
  if (left.length === 0) {
    localStorage.setItem(KEY, 'done');
    return null;
  }
  const [next] = left;
  return (
    <Section title="First steps" aside={`${steps.length - left.length} of ${steps.length} done`}>
      <ol className="grid rounded-md border border-line">
        {steps.map((step) => {
          const Icon = step.done ? CircleCheck : Circle;
          return (
            <li key={step.name} className="flex gap-2.5 border-line px-3 py-2 not-first:border-t">
              <Icon
                size={18}
                aria-label={step.done ? 'Done' : 'Not done'}
                className={`mt-px shrink-0 ${step.done ? 'text-good' : 'text-soft'}`}
              />
              <div className="grid min-w-0 flex-1 gap-1.5">
                <p className={step === next ? 'font-semibold' : step.done ? 'text-soft' : ''}>{step.name}</p>
                {step === next && (
                  <>
                    <p className="text-soft">{step.hint}</p>
                    {step.link !== undefined && (
                      <Link to={step.link.to} className="justify-self-start text-accent underline">
                        {step.link.words}
                      </Link>
                    )}
                    {step.command !== undefined && <CodeBlock text={step.command} label="Copy the command" />}
                  </>
                )}
              </div>
            </li>
          );
        })}
      </ol>
    </Section>
  );
}
