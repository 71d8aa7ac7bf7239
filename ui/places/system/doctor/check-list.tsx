/** Checks of one thing as sentences, the worst first; those that are fine stand behind one line. */
import {
  ChevronRight,
  CircleAlert,
  CircleCheck,
  CircleQuestionMark,
  type LucideIcon,
  TriangleAlert,
} from 'lucide-react';
import type { DomainCheck } from '../../../../src/client/api-types.ts';
import { CopyButton } from '../../../components/copy.tsx';
import { Sentence } from '../../../components/sentence.tsx';
import { checkName } from '../../domains/domain-status.ts';
import { worstFirst } from './findings.ts';

const LOOKS: Readonly<Record<DomainCheck['Status'], { icon: LucideIcon; colour: string }>> = {
  Failed: { icon: CircleAlert, colour: 'text-bad' },
  Warning: { icon: TriangleAlert, colour: 'text-warn' },
  Unknown: { icon: CircleQuestionMark, colour: 'text-soft' },
  Ok: { icon: CircleCheck, colour: 'text-good' },
};

export function CheckList({ label, checks }: { label: string; checks: readonly DomainCheck[] }) {
  const open = worstFirst(checks).filter(({ Status }) => Status !== 'Ok');
  const fine = checks.filter(({ Status }) => Status === 'Ok');
  return (
    <div className="grid">
      {open.length > 0 && (
        <ul aria-label={label} className="grid border-line border-t">
          {open.map((check) => (
            <Check key={check.Name} check={check} />
          ))}
        </ul>
      )}
      {fine.length > 0 && (
        <details className="group border-line border-y py-2">
          <summary className="flex list-none items-center gap-2.5 [&::-webkit-details-marker]:hidden">
            <CircleCheck size={18} aria-hidden className="shrink-0 text-good" />
            {fine.length === 1 ? 'One check is' : `${fine.length} checks are`} fine
            <ChevronRight size={14} aria-hidden className="shrink-0 text-soft group-open:rotate-90" />
          </summary>
          <ul aria-label={`${label}: fine`} className="mt-2 grid">
            {fine.map((check) => (
              <Check key={check.Name} check={check} />
            ))}
          </ul>
        </details>
      )}
    </div>
  );
}

function Check({
  check: { Name, Status, Type, Host, Expected, Found, Message, Fix },
}: {
  check: DomainCheck;
}) {
  const { icon: Icon, colour } = LOOKS[Status];
  const isFine = Status === 'Ok';
  return (
    <li className="flex gap-2.5 border-line border-b py-2.5 last:border-b-0">
      <Icon size={18} aria-label={Status} className={`mt-px shrink-0 ${colour}`} />
      <div className="grid min-w-0 flex-1 gap-1">
        <p>
          <span className="font-semibold">{checkName(Name)}</span>{' '}
          <bdi>
            <Sentence text={Message} />
          </bdi>
        </p>
        {Fix !== '' && (
          <p className="text-soft">
            <Sentence text={Fix} />
          </p>
        )}
        {!isFine && Expected !== '' && (
          <div className="flex items-start gap-2 rounded-md border border-line bg-page py-1 pr-1 pl-3">
            <p className="min-w-0 flex-1 py-1 font-mono text-xs" dir="ltr">
              {Host} {Type} {Expected}
            </p>
            <CopyButton text={Expected} label={`Copy what ${Host} should say`} />
          </div>
        )}
        {!isFine && Found.length > 0 && (
          <p className="font-mono text-soft text-xs" dir="ltr">
            found: {Found.join(' · ')}
          </p>
        )}
      </div>
    </li>
  );
}
