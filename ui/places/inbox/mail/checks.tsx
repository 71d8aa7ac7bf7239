/** What is likely wrong with the mail, the worst first, each with what to do. */
import { CircleAlert, CircleCheck, TriangleAlert } from 'lucide-react';
import { useMemo } from 'react';
import type { CaptureDetail } from '../../../../src/client/api-types.ts';
import { type Finding, findProblems } from './find-problems.ts';

const LOOKS = {
  bad: { Icon: CircleAlert, colour: 'text-bad', word: 'Wrong' },
  warn: { Icon: TriangleAlert, colour: 'text-warn', word: 'Look at this' },
  good: { Icon: CircleCheck, colour: 'text-good', word: 'Good' },
} as const;

export function Checks({ mail }: { mail: CaptureDetail }) {
  const findings = useMemo(() => {
    return findProblems(mail, mail.HTMLContent === '' ? null : inertDocument(mail.HTMLContent));
  }, [mail]);
  return (
    <ul className="p-4">
      {findings.map((finding) => (
        <Item key={finding.title} finding={finding} />
      ))}
    </ul>
  );
}

/** A document that is never shown: nothing in it runs or loads. Its styles are put aside, since the page's policy refuses them. */
function inertDocument(html: string): Document {
  const unstyled = html.replace(/<(\/?)style/gi, '<$1x-style').replace(/\sstyle(?=[\s=])/gi, ' x-style');
  return new DOMParser().parseFromString(unstyled, 'text/html');
}

function Item({ finding }: { finding: Finding }) {
  const { Icon, colour, word } = LOOKS[finding.level];
  return (
    <li className="flex gap-3 border-line border-b py-2.5">
      <Icon size={16} aria-label={word} className={`mt-0.5 shrink-0 ${colour}`} />
      <div className="min-w-0">
        <h3 className={finding.level === 'good' ? '' : 'font-semibold'}>{finding.title}</h3>
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
