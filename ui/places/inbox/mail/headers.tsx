/** The header fields, decoded, in the order in which they travel. */
import type { CaptureDetail } from '../../../../src/client/api-types.ts';
import { CopyButton } from '../../../components/copy.tsx';

export function Headers({ mail }: { mail: CaptureDetail }) {
  return (
    <table className="w-full text-left">
      <caption className="sr-only">Header fields</caption>
      <tbody>
        {mail.Headers.map(({ Name, Value }, index) => (
          <tr key={`${Name}${String(index)}`} className="group border-line border-b align-top">
            <th scope="row" className="w-40 py-1.5 pr-3 pl-4 font-semibold">
              {Name}
            </th>
            <td dir="auto" className="py-1.5 font-mono text-xs leading-5">
              {Value}
            </td>
            <td className="w-10 pr-2">
              <CopyButton text={Value} label={`Copy ${Name}`} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
