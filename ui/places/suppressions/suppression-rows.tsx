/** Suppressed addresses as a table, on a phone as a list: why, by what message, until when, and taking them off. */
import { Link } from '@tanstack/react-router';
import type { Suppression } from '../../../src/client/api-types.ts';
import { unlessGone } from '../../api/call.ts';
import { SUPPRESSIONS, unsuppress } from '../../api/suppressions.ts';
import { Address } from '../../components/addresses.tsx';
import { Button } from '../../components/button.tsx';
import { type Columns, DataTable } from '../../components/data-table.tsx';
import { Ago, Ends } from '../../components/time.tsx';
import { useLeaving, useRemoval } from '../../components/use-removal.ts';
import { reasonMeaning, reasonName } from './reasons.ts';

export function SuppressionRows(props: {
  items: readonly Suppression[];
  mayChange: boolean;
  isOld: boolean;
}) {
  const leaving = useLeaving<string>(SUPPRESSIONS);
  const remove = useRemoval<string>(SUPPRESSIONS);
  const lift = (item: Suppression): void =>
    remove(keyOf(item), `${item.Email} is removed from the list`, (isLeaving) =>
      unsuppress(item.Domain, item.Email, { reason: item.Reason, leaving: isLeaving }).catch(unlessGone),
    );
  return (
    <DataTable
      label="Suppressions"
      columns={COLUMNS}
      rows={props.items.filter((item) => !leaving.has(keyOf(item)))}
      keyOf={keyOf}
      isOld={props.isOld}
      actionsWidth="w-26"
      actions={
        props.mayChange &&
        ((item: Suppression) => (
          <Button aria-label={`Remove ${item.Email}`} onClick={() => lift(item)}>
            Remove
          </Button>
        ))
      }
    />
  );
}

const COLUMNS: Columns<Suppression> = [
  {
    name: 'Address',
    width: 'w-4/12',
    cell: ({ Email, Domain }) => (
      <>
        <Address text={Email} />
        <p className="font-normal text-soft text-xs">
          for <bdi>{Domain}</bdi>
        </p>
      </>
    ),
  },
  { name: 'Why', cell: (item) => <Why item={item} /> },
  { name: 'Added', width: 'w-26', cell: ({ CreatedAt }) => <Ago at={CreatedAt} /> },
  { name: 'Ends', width: 'w-28', cell: ({ ExpiresAt }) => <Ends at={ExpiresAt} /> },
];

function Why({ item: { Reason, Note, Reply, MessageID } }: { item: Suppression }) {
  return (
    <div className="grid gap-0.5">
      <p>
        {reasonName(Reason)}: <span className="text-soft">{reasonMeaning(Reason)}</span>
      </p>
      {Note !== '' && (
        <p className="line-clamp-2" title={Note}>
          {Note}
        </p>
      )}
      <div className="flex flex-wrap items-baseline gap-x-3 empty:hidden">
        {Reply !== '' && (
          <p dir="auto" className="line-clamp-2 min-w-0 font-mono text-soft text-xs" title={Reply}>
            {Reply}
          </p>
        )}
        {MessageID !== null && (
          <Link
            to="/messages/$id"
            params={{ id: MessageID }}
            className="shrink-0 text-accent text-xs hover:underline"
          >
            The message
          </Link>
        )}
      </div>
    </div>
  );
}

/** Who is put on the list again is another entry. */
const keyOf = ({ Domain, Email, Reason, CreatedAt }: Suppression) =>
  `${Domain} ${Email} ${Reason} ${CreatedAt}`;
