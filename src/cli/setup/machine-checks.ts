/** The doctor's checks of this machine with the answers so far. */
import type { DomainCheck } from '../../client/api-types.ts';
import type { Setup } from './setup.ts';

/**
 * The checks that `wanted` selects by name; they are also kept for the report, and replace earlier ones of the same
 * name.
 */
export async function machineChecks(
  setup: Setup,
  what: string,
  wanted: (name: string) => boolean,
  ownDomains: readonly string[] = [],
): Promise<readonly DomainCheck[]> {
  const { examineMachine } = await import('../../preflight.ts');
  const checks = (await setup.during(what, examineMachine(setup.load(), ownDomains))).filter(({ Name }) =>
    wanted(Name),
  );
  const { Checks } = setup.report;
  const others = Checks.filter(({ Name }) => !wanted(Name));
  Checks.splice(0, Checks.length, ...others, ...checks);
  return checks;
}
