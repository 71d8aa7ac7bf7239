/** A whole server at which people sign in by an identity provider: it has to know its own address before it listens. */
import { CLIENT } from '../fakes/identity-provider.ts';
import { freePort } from '../fakes/own-postfix.ts';
import { type Instance, type Scope, startInstance } from './harness.ts';

export async function startSigningIn(
  scope: Scope,
  issuer: string,
  settings: Record<string, string> = {},
): Promise<Instance> {
  const at = `127.0.0.1:${await freePort()}`;
  return startInstance(scope, {
    settings: {
      ...{ http: at, 'public-url': `http://${at}`, 'oidc-issuer': issuer },
      ...{ 'oidc-client-id': CLIENT.id, 'oidc-client-secret': CLIENT.secret },
      ...settings,
    },
  });
}
