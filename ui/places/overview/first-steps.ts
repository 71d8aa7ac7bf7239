/** From nothing to the first delivered mail: each step with what it is done by, ticked by facts. Pure. */
import { commandOf } from '../../api/me.ts';
import type { FirstFacts } from '../../api/overview.ts';

export interface FirstStep {
  name: string;
  done: boolean;
  /** How it is done. */
  hint: string;
  command?: string;
}

/** Steps whose fact the caller may not know are left out. */
export function firstSteps(facts: FirstFacts): readonly FirstStep[] {
  const { me, route, domains, hasToken, accepted, delivered } = facts;
  const domain = domains?.[0]?.Domain ?? 'example.com';
  const command = (words: string) => commandOf(me, words);
  const steps: (FirstStep & { known: boolean })[] = [
    {
      name: 'A server that sends',
      done: route === null ? me.Mode === 'serve' : route !== 'sandbox',
      known: true,
      hint: 'This server captures all mail. The command setup asks how mail is sent (through a relay, or directly), tries it, and writes the configuration of a server that sends.',
      command: command(`setup ${domain}`),
    },
    {
      name: 'A sender domain',
      done: (domains?.length ?? 0) > 0,
      known: domains !== null,
      hint: 'The domain you send from. This creates its DKIM keys and prints the DNS records to publish.',
      command: command(`domain add ${domain}`),
    },
    {
      name: 'Its DNS records are verified',
      done: domains?.some(({ Status }) => Status === 'Verified') ?? false,
      known: domains !== null,
      hint: 'Publish the records with your DNS provider, then look them up.',
      command: command(`domain verify ${domain}`),
    },
    {
      name: 'A token for your application',
      done: hasToken === true,
      known: hasToken !== null,
      hint: 'It may send for this domain, and nothing else. It is shown once.',
      command: command(`token create --domain ${domain} --preset Send`),
    },
    {
      name: 'The first mail is accepted',
      done: (accepted ?? 0) > 0,
      known: accepted !== null,
      hint: 'Send one from your application, or by a command.',
      command: command(`send --from me@${domain} --to you@example.net --subject Hello --text hello.txt`),
    },
    {
      name: 'The first mail is delivered',
      done: (delivered ?? 0) > 0,
      known: delivered !== null,
      hint: 'The queue shows what waits, and why.',
    },
  ];
  return steps.filter(({ known }) => known).map(({ known: _, ...step }) => step);
}
