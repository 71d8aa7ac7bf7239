import { expect, it } from 'vitest';
import { parseRoute } from '../../config-routing.ts';
import { relayUrl } from './relay-url.ts';

it.each([
  { host: 'relay.test', port: 587, implicitTls: false, user: 'me@x', password: 'a,b:c/d%e @f#?' },
  { host: 'relay.test', port: 465, implicitTls: true, user: '', password: '' },
  { host: '2001:db8::1', port: 25, implicitTls: false, user: 'ü', password: "'()*!" },
])('what is written for $host:$port is read back the same', (relay) => {
  const { user, password, ...rest } = relay;
  expect(parseRoute(relayUrl(relay))).toEqual({
    kind: 'relay',
    ...rest,
    auth: user === '' ? null : { user, password },
  });
  expect(relayUrl(relay)).not.toContain(',');
});
