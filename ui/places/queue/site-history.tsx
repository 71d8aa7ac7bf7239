/** When a site's paths closed and opened, newest first. */
import type { Site } from '../../../src/client/api-types.ts';
import { Section } from '../../components/page.tsx';
import { Ago } from '../../components/time.tsx';
import { reasonText } from './reason-words.ts';

const SHOWN = 20;

export function SiteHistory({ history }: { history: Site['History'] }) {
  return (
    <Section title="Closed and opened" aside="in the last 14 days">
      {history.length === 0 ? (
        <p className="text-soft">It was never closed.</p>
      ) : (
        <ol aria-label="Closed and opened" className="grid border-line border-t">
          {history.slice(0, SHOWN).map(({ At, Reason, Source }) => (
            <li
              key={`${At} ${Source} ${Reason}`}
              className="grid grid-cols-[5.5rem_minmax(0,1fr)] gap-x-3 border-line border-b py-1.5"
            >
              <Ago at={At} className="text-soft" />
              <p className={Reason === null ? 'text-good' : ''}>
                {Reason === null ? 'Opened' : `Closed: ${reasonText(Reason)}`}
                {Source !== '' && <span className="text-soft"> · {Source}</span>}
              </p>
            </li>
          ))}
        </ol>
      )}
    </Section>
  );
}
