/** What is likely wrong with the mail, the worst first, each with what to do. */

import { useQuery } from '@tanstack/react-query';
import { CircleAlert, CircleCheck, TriangleAlert } from 'lucide-react';
import { useMemo } from 'react';
import type { CaptureDetail } from '../../../../src/client/api-types.ts';
import { getSpam } from '../../../api/captures.ts';
import { decimalText } from '../../../components/count.ts';
import { type MissingFeature, missingFeatures, type SupportData } from './client-support.ts';
import { type Finding, findProblems } from './find-problems.ts';

const LOOKS = {
  bad: { Icon: CircleAlert, colour: 'text-bad', word: 'Wrong' },
  warn: { Icon: TriangleAlert, colour: 'text-warn', word: 'Look at this' },
  good: { Icon: CircleCheck, colour: 'text-good', word: 'Good' },
} as const;

export function Checks({ mail }: { mail: CaptureDetail }) {
  const findings = useMemo(() => findProblems(mail), [mail]);
  return (
    <div className="p-4">
      <ul>
        {findings.map((finding) => (
          <Item key={finding.title} finding={finding} />
        ))}
      </ul>
      {mail.HTMLContent !== '' && <Programs html={mail.HTMLContent} />}
      <Spam id={mail.ID} />
    </div>
  );
}

/** What SpamAssassin says: the rules that the mail hits, or why it was not asked. */
function Spam({ id }: { id: string }) {
  const { data, error } = useQuery({
    queryKey: ['spam', id],
    queryFn: ({ signal }) => getSpam(id, signal),
    staleTime: Number.POSITIVE_INFINITY,
  });
  return (
    <section className="mt-6">
      <h2 className="font-semibold">SpamAssassin</h2>
      {data === undefined ? (
        <p className="text-soft">{error === null ? 'It is asked…' : error.message}</p>
      ) : data.Points === null ? (
        <p className="text-soft">{data.Why}.</p>
      ) : (
        <p>
          {data.Points >= (data.Required ?? 0) ? (
            <span className="text-bad">Spam:</span>
          ) : (
            <span className="text-good">No spam:</span>
          )}{' '}
          {data.Points} points; from {data.Required} on, mail counts as spam.
        </p>
      )}
      <ul className="mt-1">
        {data?.Rules.map(({ Name, Points, Description }) => (
          <li
            key={Name}
            className="grid grid-cols-[3rem_minmax(0,1fr)] gap-x-3 border-line border-b py-2 tabular-nums"
          >
            <span className={`text-right ${Points > 0 ? 'text-warn' : 'text-soft'}`}>
              {decimalText(Points)}
            </span>
            <div>
              <p className="break-all font-mono text-xs leading-5">{Name}</p>
              <p className="text-soft">{Description}</p>
            </div>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** Which programs do not show what the mail uses. The data is large, and loaded for this alone. */
function Programs({ html }: { html: string }) {
  const { data, error } = useQuery({
    queryKey: ['caniemail'],
    queryFn: async () => (await import('caniemail/caniemail.json')).default as unknown as SupportData,
    staleTime: Number.POSITIVE_INFINITY,
  });
  const missing = useMemo(() => (data === undefined ? null : missingFeatures(html, data)), [html, data]);
  return (
    <section className="mt-6">
      <h2 className="font-semibold">What mail programs do not show</h2>
      {error !== null && <p className="text-soft">The data of caniemail.com cannot be loaded.</p>}
      {missing?.length === 0 && (
        <p className="text-soft">Everything this mail uses is shown by the programs that were measured.</p>
      )}
      <ul className="mt-1">
        {missing?.map((feature) => (
          <Feature key={feature.url} feature={feature} />
        ))}
      </ul>
      <p className="mt-2 text-soft text-xs">
        By measurements of caniemail.com, found by name in the HTML and CSS of this mail.
      </p>
    </section>
  );
}

function Feature({ feature: { title, url, none, partly } }: { feature: MissingFeature }) {
  return (
    <li className="border-line border-b py-2">
      <a href={url} target="_blank" rel="noopener noreferrer" className="font-mono text-accent underline">
        {title}
      </a>
      {none.length > 0 && (
        <p>
          <span className="text-bad">Not shown:</span> {none.join(', ')}
        </p>
      )}
      {partly.length > 0 && (
        <p className="text-soft">
          <span className="text-warn">In part:</span> {partly.join(', ')}
        </p>
      )}
    </li>
  );
}

function Item({ finding }: { finding: Finding }) {
  const { Icon, colour, word } = LOOKS[finding.level];
  return (
    <li className="flex gap-3 border-line border-b py-2.5">
      <Icon size={16} aria-label={word} className={`mt-0.5 shrink-0 ${colour}`} />
      <div className="min-w-0">
        <h2 className={finding.level === 'good' ? '' : 'font-semibold'}>{finding.title}</h2>
        {finding.advice !== '' && <p className="text-soft">{finding.advice}</p>}
        {finding.places.length > 0 && (
          <ul className="mt-1">
            {finding.places.map((place, index) => (
              <li
                key={`${place}${String(index)}`}
                dir="ltr"
                className="font-mono text-soft text-xs leading-5"
              >
                {place === '' ? '(empty)' : place}
              </li>
            ))}
          </ul>
        )}
      </div>
    </li>
  );
}
