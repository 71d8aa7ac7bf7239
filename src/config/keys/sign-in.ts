/** How people sign in to the dashboard, beside their passwords. */

import { isLoopbackHost } from '../../lib/loopback.ts';
import { bad, good, nonEmpty, parseSwitch, splitList } from '../forms.ts';
import { both, type KeyTable, key } from '../key-facts.ts';

export const SIGN_IN_KEYS = {
  'oidc-issuer': key(
    'URL',
    both(null),
    'identity provider (OpenID Connect) by which people sign in to the dashboard; needs `oidc-client-id` and `public-url`',
    (t) => {
      const url = URL.canParse(t) ? new URL(t) : null;
      const isSafe =
        url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopbackHost(url.hostname));
      return url !== null && isSafe && url.search === '' && url.hash === '' && url.username === ''
        ? good(t)
        : bad('use the issuer as the provider writes it, e.g. https://login.example.com/realms/staff');
    },
  ),
  'oidc-client-id': key('text', both(null), 'client id of this server at the identity provider', (t) =>
    nonEmpty(t, 'the client id'),
  ),
  'oidc-client-secret': {
    ...key('text', both(null), 'secret of `oidc-client-id`; not set for a public client', (t) =>
      nonEmpty(t, 'the client secret'),
    ),
    secret: true,
  },
  'oidc-name': key(
    'text',
    both(null),
    'name of the identity provider on the sign-in page; the host of `oidc-issuer` if not set',
    (t) => (t.length > 0 && t.length <= 40 ? good(t) : bad('use 1 to 40 characters, e.g. Example Login')),
  ),
  'oidc-require': key(
    'list of `claim=value`',
    both(''),
    'claims that everybody who signs in by the identity provider must have, e.g. `groups=mail-operators`; if a claim is a list, one of its items must be the value',
    (t) => {
      const claims = splitList(t).map((item) => /^([\w:./-]{1,200})=(.+)$/.exec(item));
      return claims.includes(null)
        ? bad('use claim=value, e.g. groups=mail-operators or hd=example.com')
        : good(claims.map((match) => ({ claim: match?.[1] ?? '', value: match?.[2] ?? '' })));
    },
  ),
  'require-totp': key(
    '`on` or `off`',
    both('off'),
    'people who sign in with a password need a second factor; a person without one sets it up at the next sign-in. Sign-ins by an identity provider are not affected',
    parseSwitch,
  ),
} satisfies KeyTable;
