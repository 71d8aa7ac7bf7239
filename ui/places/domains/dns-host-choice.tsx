/** Where the zone of the domain is: it decides how names and texts are entered there. */
import { SelectField } from '../../components/field.tsx';
import { DNS_HOSTS, type DnsHost } from './dns-hosts.ts';

export function DnsHostChoice({
  host,
  onHost,
  zone,
  zones,
  onZone,
}: {
  host: DnsHost;
  onHost(host: DnsHost): void;
  zone: string;
  zones: readonly string[];
  onZone(zone: string): void;
}) {
  return (
    <div className="grid gap-2">
      <div className="grid max-w-2xl gap-3 min-[44rem]:grid-cols-2">
        <SelectField
          label="DNS host"
          value={host.name}
          onChange={(event) =>
            onHost(DNS_HOSTS.find(({ name }) => name === event.target.value) ?? DNS_HOSTS[0])
          }
        >
          {DNS_HOSTS.map(({ name }) => (
            <option key={name}>{name}</option>
          ))}
        </SelectField>
        {zones.length > 1 && host.names === 'short' && (
          <SelectField
            label="Zone, as the DNS host calls it"
            value={zone}
            onChange={(event) => onZone(event.target.value)}
          >
            {zones.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </SelectField>
        )}
      </div>
      <p className="text-soft">{host.hint}</p>
    </div>
  );
}
