/** The header fields, decoded, in the order in which they travel. */
import type { CaptureDetail } from '../../../../src/client/api-types.ts';
import { CopyButton } from '../../../components/copy.tsx';

export function Headers({ mail }: { mail: CaptureDetail }) {
  return (
    <table className="w-full text-left">
      <caption className="sr-only">Header fields</caption>
      <tbody>
        {mail.Headers.map(({ Name, Value }, index) => (
          <tr
            key={`${Name}${String(index)}`}
            className="border-line border-b align-top max-[44rem]:grid max-[44rem]:grid-cols-[minmax(0,1fr)_auto]"
          >
            <th
              scope="row"
              className="w-40 py-1.5 pr-3 pl-4 font-semibold max-[44rem]:w-auto max-[44rem]:pb-0"
            >
              {Name}
            </th>
            <td
              dir="auto"
              className="py-1.5 font-mono text-xs leading-5 max-[44rem]:row-start-2 max-[44rem]:pt-0 max-[44rem]:pl-4"
            >
              {Value}
            </td>
            <td className="w-10 pr-2 max-[44rem]:row-span-2">
              <CopyButton text={Value} label={`Copy ${Name}`} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
