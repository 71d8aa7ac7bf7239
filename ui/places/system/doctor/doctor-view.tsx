/** The doctor, when it is asked: this server and every sender domain, what is wrong first, with what helps. */
import { Stethoscope } from 'lucide-react';
import { useEffect, useRef, useState } from 'react';
import { Button } from '../../../components/button.tsx';
import { FormError } from '../../../components/field.tsx';
import { Notice } from '../../../components/notice.tsx';
import { Section } from '../../../components/page.tsx';
import { Ago } from '../../../components/time.tsx';
import { CheckList } from './check-list.tsx';
import { sumText, worstOf } from './findings.ts';
import { type Examined, runDoctor } from './run-doctor.ts';

export function DoctorView() {
  const [examined, setExamined] = useState<Examined | null>(null);
  const [endedAt, setEndedAt] = useState<string | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const running = useRef<AbortController | null>(null);
  const [isRunning, setRunning] = useState(false);
  useEffect(() => () => running.current?.abort(), []);

  async function run(): Promise<void> {
    const ends = new AbortController();
    running.current = ends;
    setError(null);
    setRunning(true);
    try {
      await runDoctor(ends.signal, setExamined);
      setEndedAt(new Date().toISOString());
    } catch (cause) {
      if (!ends.signal.aborted) setError(cause instanceof Error ? cause : new Error(String(cause)));
    }
    ends.abort();
    setRunning(false);
  }

  const domains = (examined?.domains ?? []).toSorted(
    (a, b) =>
      worstOf(b.Checks) - worstOf(a.Checks) || a.Domain.localeCompare(b.Domain, undefined, { numeric: true }),
  );
  return (
    <>
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
        <Button look="main" isBusy={isRunning} onClick={() => void run()}>
          <Stethoscope size={14} aria-hidden /> {examined === null ? 'Check everything' : 'Check again'}
        </Button>
        {isRunning && <Progress examined={examined} />}
        {!isRunning && endedAt !== null && (
          <p className="text-soft">
            checked <Ago at={endedAt} />
          </p>
        )}
      </div>
      <FormError error={error} />
      {examined === null ? (
        <Notice title="Nothing was checked yet" icon={<Stethoscope aria-hidden />}>
          The doctor looks at this server (addresses, names, ports, clock, disk, certificates) and at the DNS
          records of every sender domain, and says what to do. It takes some seconds.
        </Notice>
      ) : (
        <>
          {examined.server !== null && (
            <Section title="This server" aside={sumText(examined.server)}>
              <CheckList label="This server" checks={examined.server} />
            </Section>
          )}
          {domains.map(({ Domain, Checks, Status }) => (
            <Section key={Domain} title={<bdi>{Domain}</bdi>} aside={`${Status}: ${sumText(Checks)}`}>
              <CheckList label={Domain} checks={Checks} />
            </Section>
          ))}
        </>
      )}
    </>
  );
}

function Progress({ examined }: { examined: Examined | null }) {
  const done = examined?.done ?? 0;
  const of = examined?.of ?? null;
  return (
    <p role="status" className="flex items-center gap-2 text-soft tabular-nums">
      <progress
        value={done}
        max={of ?? 1}
        aria-label="Checks done"
        className="h-1.5 w-32 accent-accent-fill"
      />
      {of === null ? 'Beginning…' : `${done} of ${of} done`}
    </p>
  );
}
