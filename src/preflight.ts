/**
 * The doctor's checks of this machine for a configuration that no server runs with yet: `setup` makes them before it
 * writes anything. Given a loaded configuration; returns the checks as the API shows them. Opens no store, writes nothing,
 * and ends in limited time.
 */
import { createCheckup } from './checkup.ts';
import type { LoadedConfig } from './config.ts';
import { systemClock } from './lib/clock.ts';
import { createSystemRandom } from './lib/random.ts';
import { type DomainCheckItem, toCheckItem } from './listeners/http/operations/domain-checks.ts';
import { openNetwork } from './network.ts';

/**
 * Every check of `postrider doctor` of this server, but that of the listener for bounces, which is not there yet.
 * `ownDomains`: sender domains whose mail servers show whether port 25 is open outwards.
 */
export async function examineMachine(
  { config, routing }: LoadedConfig,
  ownDomains: readonly string[],
): Promise<readonly DomainCheckItem[]> {
  const parts = { clock: systemClock, random: createSystemRandom() };
  const network = openNetwork(parts, config, undefined);
  try {
    const checkup = createCheckup({
      ...parts,
      config,
      routing,
      resolver: network.resolver,
      filter: network.filter,
      http: network.policyHttp,
      dataFolder: config.data,
      ownDomains,
    });
    const checks = await checkup.instance({ suspicion: null, returns: 'elsewhere', https: null });
    return checks.map(toCheckItem);
  } finally {
    network.close();
  }
}
