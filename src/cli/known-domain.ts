/**
 * Tokens, webhooks and SMTP users may be made before their domain is. A domain that never comes is more likely a
 * mistyped name: this looks for it and says so on standard error. The command itself has succeeded either way.
 */
import type { Api } from './api-client.ts';
import type { CommandContext } from './command.ts';
import { CommandError, printable } from './terminal.ts';

/** Warns of each of `domains` that the server does not have; `*` stands for all and is left out. */
export async function warnOfUnknownDomains(
  context: CommandContext,
  api: Pick<Api, 'call'>,
  domains: readonly string[],
): Promise<void> {
  for (const domain of domains) {
    if (domain === '*' || (await isKnown(api, domain))) continue;
    const name = printable(domain);
    context.terminal.stderr.write(
      `Warning: ${name} is not a domain of this server yet; add it with: ${context.command(`domain add ${name}`)}\n`,
    );
  }
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
