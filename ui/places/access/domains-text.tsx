/** The domains of a token or a person: all, or the first few and how many more. */
import { Address } from '../../components/addresses.tsx';

const SHOWN = 3;

export function DomainsText({ domains }: { domains: readonly string[] }) {
  if (domains.includes('*')) return 'all domains';
  const more = domains.length - SHOWN;
  return (
    <span title={domains.join('\n')}>
      {domains.slice(0, SHOWN).map((domain) => (
        <span key={domain} className="block">
          <Address text={domain} />
        </span>
      ))}
      {more > 0 && <span className="text-soft">and {more} more</span>}
    </span>
  );
}
