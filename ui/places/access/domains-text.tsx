/** The domains of a token or a person: all, or the first few and how many more. */
const SHOWN = 3;

export function DomainsText({ domains }: { domains: readonly string[] }) {
  if (domains.includes('*')) return 'all domains';
  const more = domains.length - SHOWN;
  return (
    <span title={domains.join('\n')}>
      {domains.slice(0, SHOWN).map((domain) => (
        <bdi key={domain} className="block">
          {domain}
        </bdi>
      ))}
      {more > 0 && <span className="text-soft">and {more} more</span>}
    </span>
  );
}
