/** Suppressed addresses as a table, on a phone as a list: why, by what message, until when, and taking them off. */
import { useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import type { Suppression } from '../../../src/client/api-types.ts';
import { ApiError } from '../../api/call.ts';
import { SUPPRESSIONS, unsuppress } from '../../api/suppressions.ts';
import { Address } from '../../components/addresses.tsx';
import { Button } from '../../components/button.tsx';
import { useMedia } from '../../components/media.ts';
import { Ago, Until } from '../../components/time.tsx';
import { undoable } from '../../components/undoable.ts';
import { reasonMeaning, reasonName } from './reasons.ts';

/** The table has room for its columns. */
const TABLE = '(min-width: 58rem)';

export function SuppressionRows(props: { items: readonly Suppression[]; mayChange: boolean }) {
  const isTable = useMedia(TABLE);
  const { leaving, lift } = useLift();
  const items = props.items.filter((item) => !leaving.has(keyOf(item)));
  const button = (item: Suppression) =>
    props.mayChange && (
      <Button aria-label={`Remove ${item.Email}`} onClick={() => lift(item)}>
        Remove
      </Button>
    );
  if (!isTable)
    return (
      <ul aria-label="Suppressions" className="grid border-line border-t">
        {items.map((item) => (
          <li key={keyOf(item)} className="grid gap-1 border-line border-b py-2.5">
            <div className="flex items-start gap-2">
              <div className="grid min-w-0 flex-1">
                <Address text={item.Email} />
                <p className="text-soft text-xs">
                  for <bdi>{item.Domain}</bdi> · added <Ago at={item.CreatedAt} /> · <Ends item={item} />
                </p>
              </div>
              {button(item)}
            </div>
            <Why item={item} />
          </li>
        ))}
      </ul>
    );
  return (
    <table aria-label="Suppressions" className="w-full table-fixed border-collapse text-left">
      <thead className="border-line border-b text-soft text-xs">
        <tr>
          <th className="w-4/12 py-1.5 pr-3 font-normal">Address</th>
          <th className="px-2 py-1.5 font-normal">Why</th>
          <th className="w-26 px-2 py-1.5 font-normal">Added</th>
          <th className="w-28 px-2 py-1.5 font-normal">Ends</th>
          {props.mayChange && (
            <th className="w-26 py-1.5 pl-2">
              <span className="sr-only">Actions</span>
            </th>
          )}
        </tr>
      </thead>
      <tbody>
        {items.map((item) => (
          <tr key={keyOf(item)} className="border-line border-b align-top hover:bg-hover">
            <th scope="row" className="py-2 pr-3 font-normal">
              <Address text={item.Email} />
              <p className="text-soft text-xs">
                for <bdi>{item.Domain}</bdi>
              </p>
            </th>
            <td className="px-2 py-2">
              <Why item={item} />
            </td>
            <td className="px-2 py-2">
              <Ago at={item.CreatedAt} />
            </td>
            <td className="px-2 py-2">
              {item.ExpiresAt === null ? (
                <span className="text-soft">never</span>
              ) : (
                <Until at={item.ExpiresAt} />
              )}
            </td>
            {props.mayChange && <td className="py-1 pl-2 text-right">{button(item)}</td>}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Why({ item: { Reason, Note, Reply, MessageID } }: { item: Suppression }) {
  return (
    <div className="grid gap-0.5">
      <p>
        {reasonName(Reason)} <span className="text-soft">{reasonMeaning(Reason)}</span>
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

function Ends({ item: { ExpiresAt } }: { item: Suppression }) {
  return ExpiresAt === null ? (
    'until it is removed'
  ) : (
    <>
      ends <Until at={ExpiresAt} />
    </>
  );
}

const keyOf = ({ Domain, Email, Reason }: Suppression) => `${Domain} ${Email} ${Reason}`;

/** Gone at once, taken off in ten seconds unless it is undone. */
function useLift() {
  const queries = useQueryClient();
  const [leaving, setLeaving] = useState<ReadonlySet<string>>(new Set());
  const lift = (item: Suppression): void => {
    const key = keyOf(item);
    const back = () => setLeaving((before) => new Set([...before].filter((one) => one !== key)));
    setLeaving((before) => new Set(before).add(key));
    undoable({
      text: `${item.Email} is removed from the list`,
      run: (isLeaving) =>
        unsuppress(item.Domain, item.Email, { reason: item.Reason, leaving: isLeaving }).catch(unlessGone),
      onBack: back,
      onDone: () => void queries.invalidateQueries({ queryKey: SUPPRESSIONS }).then(back),
    });
  };
  return { leaving, lift };
}

/** Somebody else was quicker, or it has expired. */
function unlessGone(error: unknown): void {
  if (!(error instanceof ApiError && error.status === 404)) throw error;
}
