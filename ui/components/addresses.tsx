/** Names and addresses of a mail, and the rows of the facts above it. Direction marks in either end with it. */
import { Fragment, type ReactNode, useState } from 'react';
import type { NamedAddress } from '../../src/client/api-types.ts';

export function HeadRow({ name, children }: { name: string; children: ReactNode }) {
  return (
    <>
      <dt className="max-w-40 text-soft">{name}</dt>
      <dd className="min-w-0">{children}</dd>
    </>
  );
}

/** An address or the name of a host: whole on a line where it fits, else broken behind an @ or a dot. */
export function Address({ text }: { text: string }) {
  return (
    <bdi className="inline-block max-w-full align-bottom">
      {text.split(/(?<=[@.])/).map((part, place) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a part is its place
        <Fragment key={place}>
          {place > 0 && <wbr />}
          {part}
        </Fragment>
      ))}
    </bdi>
  );
}

/** Each tag is kept on one line if it fits. */
export function Tags({
  tags,
  children = (tag) => tag,
}: {
  tags: readonly string[];
  children?(tag: string): ReactNode;
}) {
  return tags.map((tag, index) => (
    <Fragment key={tag}>
      {index > 0 && ' '}
      <span className="inline-block max-w-full align-bottom">
        <bdi>{children(tag)}</bdi>
        {index < tags.length - 1 && ','}
      </span>
    </Fragment>
  ));
}

const FEW = 3;

/** The first of many, and a button that shows the others. */
export function FewAddresses({ list }: { list: readonly NamedAddress[] }) {
  const [isWhole, setWhole] = useState(false);
  const others = isWhole ? 0 : list.length - FEW;
  return (
    <>
      <Addresses list={others > 0 ? list.slice(0, FEW) : list} />
      {others > 0 && (
        <>
          {' '}
          <button type="button" className="text-accent underline" onClick={() => setWhole(true)}>
            and {others} more
          </button>
        </>
      )}
    </>
  );
}

export function Addresses({ list }: { list: readonly NamedAddress[] }) {
  return list.map(({ Name, Email }, index) => (
    <span key={`${Email} ${String(index)}`}>
      {index > 0 && ', '}
      {Name !== '' && (
        <>
          <bdi>{Name}</bdi>{' '}
        </>
      )}
      <span className={Name === '' ? '' : 'text-soft'}>
        <Address text={Name === '' ? Email : `<${Email}>`} />
      </span>
    </span>
  ));
}
