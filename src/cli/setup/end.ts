/** What `setup` says at its end: how the server is started, and what comes after that. */
import type { Setup } from './setup.ts';
import type { Written } from './write-step.ts';

/** One sentence each, with the command to paste. */
export function nextSteps(
  setup: Setup,
  { written, name, verified }: { written: Written; name: string | null; verified: boolean },
): readonly string[] {
  const start = written.installed
    ? `${written.changed ? 'Start the server (or again, if it runs)' : 'Start the server'}: systemctl enable postrider && systemctl restart postrider`
    : `Start the server: ${setup.command('serve')}`;
  const steps = [start];
  if (name === null) steps.push(`Add a sender domain: ${setup.command('setup example.com')}`);
  else if (!verified)
    steps.push(`Publish the DNS records, then go on with: ${setup.command(`setup ${name}`)}`);
  else
    steps.push(
      `Send from your application, or try it: ${setup.command(`send --from you@${name} --to you@example.net --subject Hello --text README.md`)}`,
    );
  steps.push(
    `Be told about bounces: ${setup.command(`webhook create --domain ${name ?? 'example.com'} --event bounce https://app.example.com/hooks/mail`)}`,
    `Check everything, now and later: ${setup.command('doctor')}`,
  );
  return steps;
}
