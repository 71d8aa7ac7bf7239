/** Names and addresses of a mail, and the rows of the facts above it. Direction marks in a name end with the name. */
import type { ReactNode } from 'react';
import type { NamedAddress } from '../../src/client/api-types.ts';

export function HeadRow({ name, children }: { name: string; children: ReactNode }) {
  return (
    <>
      <dt className="max-w-40 text-soft">{name}</dt>
      <dd className="min-w-0">{children}</dd>
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
      <bdi className={Name === '' ? '' : 'text-soft'}>{Name === '' ? Email : `<${Email}>`}</bdi>
    </span>
  ));
}
