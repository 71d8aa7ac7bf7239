/** What a capacity run found, as the lines that `npm run simulate -- --capacity` prints. Pure. */
import type { CapacityResult } from './capacity.ts';

export function capacityText(result: CapacityResult): string[] {
  const { good, claim } = result;
  const ms = (value: number) => `${value.toFixed(1)} ms`;
  return [
    `${result.recipients} recipients in ${result.virtualHours.toFixed(2)} virtual hours, ${Math.round(result.wallSeconds)} s of wall time, ${Math.round(result.cpuSeconds)} s of CPU (accepting: ${Math.round(result.acceptSeconds)} s)`,
    `ends: ${Object.entries(result.states)
      .map(([state, count]) => `${count} ${state}`)
      .join(', ')}`,
    `sites without trouble: half of their mail after ${good.p50.toFixed(1)} virtual s, 99 % after ${good.p99.toFixed(1)}, all after ${good.last.toFixed(1)}`,
    ...result.bad.map(
      ({ name, trouble, recipients, deferred, givenBack, took }) =>
        `${name} (${trouble}): ${recipients} recipients, ${took} taken in the end; ${deferred} rows deferred, ${givenBack} given back while it waited`,
    ),
    `${claim.calls} claims: ${ms(claim.p50)} (p50), ${ms(claim.p99)} (p99), ${ms(claim.max)} (worst)`,
    `peak: ${Math.round(result.peakRssMiB)} MiB resident, ${Math.round(result.peakHeapMiB)} MiB of heap, ${result.peakConnections} connections`,
    ...result.wrong.map((what) => `BROKEN: ${what}`),
  ];
}
