/**
 * The names in a mail that DMARC compares, drawn as boxes with a line from the From address to each: whole where they belong
 * together, broken where they do not. The same is said in words, for whoever sees no drawing.
 */
import { Check, X } from 'lucide-react';
import type { Domain } from '../../../src/client/api-types.ts';
import { type AlignedName, alignmentWords } from './alignment.ts';

export function AlignmentDrawing({ domain }: { domain: Domain }) {
  const words = alignmentWords(domain);
  if (words === null) return <p className="text-soft">It is shown after the next check.</p>;
  return (
    <figure className="grid max-w-3xl gap-3">
      <div className="grid items-stretch min-[44rem]:grid-cols-[minmax(0,1fr)_auto]">
        <Box what="From address" name={`…@${words.from}`} />
        <ul
          aria-label="What is compared with the From address"
          className="grid gap-2 max-[44rem]:pt-2 max-[44rem]:pl-4"
        >
          {words.names.map((name) => (
            <Compared key={name.what} {...name} />
          ))}
        </ul>
      </div>
      <figcaption className={words.passes ? '' : 'font-semibold text-bad'}>{words.result}</figcaption>
    </figure>
  );
}

function Compared({ what, domain, aligns, why }: AlignedName) {
  const Sign = aligns ? Check : X;
  return (
    <li className="flex items-stretch">
      <span aria-hidden className="relative grid w-10 shrink-0 place-items-center min-[44rem]:w-16">
        <span
          className={`absolute inset-x-0 top-1/2 border-t-2 ${aligns ? 'border-good' : 'border-bad border-dashed'}`}
        />
        <span
          className={`relative grid size-6 place-items-center rounded-full border-2 bg-surface ${aligns ? 'border-good text-good' : 'border-bad text-bad'}`}
        >
          <Sign size={14} />
        </span>
      </span>
      <div className="grid min-w-0 flex-1 min-[44rem]:w-90">
        <Box what={what} name={domain}>
          <p className="text-xs">
            <span className={aligns ? 'text-good' : 'text-bad'}>{aligns ? 'Aligns' : 'Does not align'}</span>:{' '}
            {why}
          </p>
        </Box>
      </div>
    </li>
  );
}

function Box({ what, name, children }: { what: string; name: string; children?: React.ReactNode }) {
  return (
    <div className="grid content-center gap-0.5 rounded-md border border-line-strong px-3 py-2">
      <p className="text-soft text-xs">{what}</p>
      <p className="font-mono">
        <bdi>{name}</bdi>
      </p>
      {children}
    </div>
  );
}
