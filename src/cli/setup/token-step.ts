/**
 * The first token of an application, which may send for the domain. It is shown once. If there is one already, none
 * is created.
 */
import type { NewTokenAnswer, Token } from '../../client/api-types.ts';
import { type Api, everyItem } from '../api-client.ts';
import { validity } from '../token-commands.ts';
import type { Setup } from './setup.ts';

const NAME = 'setup';

export async function makeToken(setup: Setup, api: Api, domain: string): Promise<void> {
  const { ask, options, report } = setup;
  if (options.token === false) return;
  const there = (await everyItem<Token>(api, '/tokens')).some(
    ({ Domains, RevokedAt }) => RevokedAt === null && Domains.includes(domain),
  );
  if (there) {
    setup.say(
      `There is a token for ${domain} already; another: ${setup.command(`token create --domain ${domain} --preset Send`)}`,
    );
    return;
  }
  if (
    !(await ask.agree({
      message: `Make a token with which your application can send for ${domain}?`,
      initial: true,
    }))
  )
    return;
  const made = await api.call<NewTokenAnswer>('POST', '/tokens', {
    Name: NAME,
    Domains: [domain],
    Preset: 'Send',
  });
  const { Token } = made;
  report.Token = Token;
  setup.say(`Token for ${domain}, ${await validity(api, made)} (it is not shown again):\n\n${Token}\n`);
}
