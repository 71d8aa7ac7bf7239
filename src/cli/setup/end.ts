/** The last lines of `setup`: how to start the server, and what to do next. */
import { quoted } from '../called-as.ts';
import type { Setup } from './setup.ts';
import type { Plan } from './write-step.ts';

/** One sentence each, with the command to paste. */
export function nextSteps(
  setup: Setup,
  { plan, name, verified, running }: { plan: Plan; name: string | null; verified: boolean; running: boolean },
): readonly string[] {
  const steps = [startText(setup, plan, running)];
  if (name === null)
    steps.push(`Add a sender domain: ${setup.command(`setup example.com${unitFlag(setup)}`)}`);
  else if (!verified)
    steps.push(
      `Publish the DNS records, then go on with: ${setup.command(`setup ${name}${unitFlag(setup)}`)}`,
    );
  else
    steps.push(
      `Send from your application, or try it: echo Hello | ${setup.command(`send --from you@${name} --to you@example.net --subject Hello --text -`)}`,
    );
  steps.push(
    `Be told about bounces: ${setup.command(`webhook create --domain ${name ?? 'example.com'} --event bounce https://app.example.com/hooks/mail`)}`,
    `Check everything, now and later: ${setup.command('doctor')}`,
  );
  return steps;
}

/** The answer about the unit, which is in no file. */
function unitFlag({ options: { unit } }: Setup): string {
  if (unit === undefined) return '';
  return unit === false ? ' --no-unit' : ` --unit ${quoted(unit)}`;
}

function startText(setup: Setup, { installed, changed }: Plan, running: boolean): string {
  if (running && !changed) return 'The server runs already, with this configuration.';
  if (installed)
    return running
      ? 'Start the server again, with the new configuration: systemctl restart postrider'
      : 'Start the server: systemctl enable --now postrider';
  const { config } = setup.load();
  const listeners = [config.http, config.submission, config['submission-tls'], config.returns];
  const low = listeners.some((at) => at !== null && at.port > 0 && at.port < 1024);
  const right =
    low && process.getuid?.() !== 0
      ? ' (as root, or with the capability CAP_NET_BIND_SERVICE, because of its ports below 1024)'
      : '';
  return running
    ? `Stop the server and start it again, with the new configuration${right}: ${setup.command('serve')}`
    : `Start the server${right}: ${setup.command('serve')}`;
}
