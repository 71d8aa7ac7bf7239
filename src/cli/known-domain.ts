/**
 * Tokens, webhooks, SMTP users and suppressions may be created before their domain is added, but a domain that does not exist is more
 * often a misspelt name. The command succeeds in both cases; this prints a warning on standard error, except where the
 * server takes mail from any domain.
 */
import type { Me } from '../client/api-types.ts';
import type { Api } from './api-client.ts';
import type { CommandContext } from './command.ts';
import { CommandError, printable } from './terminal.ts';

/** Warns about each of `domains` that was not added; `*` is ignored. */
export async function warnOfUnknownDomains(
  context: CommandContext,
  api: Pick<Api, 'call'>,
  domains: readonly string[],
): Promise<void> {
  if (await takesAnyDomain(api)) return;
  for (const domain of domains) {
    if (domain === '*' || (await isKnown(api, domain))) continue;
    const name = printable(domain);
    context.terminal.stderr.write(
      `Warning: ${name} is not a domain of this server yet; add it with: ${context.command(`domain add ${name}`)}\n`,
    );
  }
}

/** Whether it is a development server: it captures all mail, from any domain. */
export async function takesAnyDomain(api: Pick<Api, 'call'>): Promise<boolean> {
  return (await api.call<Me>('GET', '/me')).AnyDomain;
}

async function isKnown(api: Pick<Api, 'call'>, domain: string): Promise<boolean> {
  try {
    await api.call('GET', `/domains/${encodeURIComponent(domain)}`);
    return true;
  } catch (cause) {
    if (cause instanceof CommandError) return false;
    throw cause;
  }
}
