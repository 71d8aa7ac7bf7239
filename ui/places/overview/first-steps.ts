/** From nothing to the first delivered mail: each step with what it is done by, ticked by facts. Pure. */
import { commandOf, mayDo } from '../../api/me.ts';
import type { FirstFacts } from '../../api/overview.ts';

export interface FirstStep {
  name: string;
  done: boolean;
  /** How it is done. */
  hint: string;
  /** Where it is done in the dashboard. */
  link?: { to: '/domains' | '/access' | '/queue'; words: string };
  /** Of an operator, who has a terminal there. */
  command?: string | undefined;
}

/** All mail stays in the sandbox, as far as the caller may know. */
export function isCapturing({ me, route }: Pick<FirstFacts, 'me' | 'route'>): boolean {
  return route === null ? me.Mode !== 'serve' : route === 'sandbox';
}

/** Steps whose fact the caller may not know, or that others have to do, are left out. */
export function firstSteps(facts: FirstFacts): readonly FirstStep[] {
  const { me, domains, hasToken, accepted, delivered } = facts;
  const domain = domains?.[0]?.Domain ?? 'example.com';
  const isOperator = mayDo(me, 'admin', 'getConfig');
  const command = (words: string) => (isOperator ? commandOf(me, words) : undefined);
  const steps: (FirstStep & { known: boolean; isOwn: boolean })[] = [
    {
      name: 'A server that sends',
      done: !isCapturing(facts),
      known: true,
      isOwn: isOperator,
      hint: 'This server captures all mail. The command setup asks how mail is sent (through a relay, or directly), tries it, and writes the configuration of a server that sends.',
      command: command(`setup ${domain}`),
    },
    {
      name: 'A sender domain',
      done: (domains?.length ?? 0) > 0,
      known: domains !== null,
      isOwn: mayDo(me, 'domains:write'),
      link: { to: '/domains', words: 'Add a domain' },
      hint: 'The domain you send from. This creates its DKIM keys and prints the DNS records to publish.',
      command: command(`domain add ${domain}`),
    },
    {
      name: 'Its DNS records are verified',
      done: domains?.some(({ Status }) => Status === 'Verified') ?? false,
      known: domains !== null,
      isOwn: mayDo(me, 'domains:write'),
      link: { to: '/domains', words: 'Show its records' },
      hint: 'Publish the records with your DNS provider, then look them up.',
      command: command(`domain verify ${domain}`),
    },
    {
      name: 'A token for your application',
      done: hasToken === true,
      known: hasToken !== null,
      isOwn: mayDo(me, 'tokens:write'),
      link: { to: '/access', words: 'Make a token' },
      hint: 'It may send for this domain, and nothing else. It is shown once.',
      command: command(`token create --domain ${domain} --preset Send`),
    },
    {
      name: 'The first mail is accepted',
      done: (accepted ?? 0) > 0,
      known: accepted !== null,
      isOwn: mayDo(me, 'email:send'),
      hint: 'Send one from your application.',
      command: command(`send --from me@${domain} --to you@example.net --subject Hello --text hello.txt`),
    },
    {
      name: 'The first mail is delivered',
      // What was captured counts as delivered.
      done: !isCapturing(facts) && (delivered ?? 0) > 0,
      known: delivered !== null,
      isOwn: isOperator,
      link: { to: '/queue', words: 'Show what waits' },
      hint: 'The queue shows what waits, and why.',
    },
  ];
  return steps
    .filter(({ known, done, isOwn }) => known && (done || isOwn))
    .map(({ known: _, isOwn: __, ...step }) => step);
}
