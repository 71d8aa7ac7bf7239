/** What is remembered between two questions about a recipient domain, and for how long. */
import { expect, it } from 'vitest';
import { createEgressFacts } from '../../../../test/fakes/egress-facts.ts';
import { createSystemRandom } from '../../../lib/random.ts';
import { createVirtualClock } from '../../../lib/virtual-clock.ts';
import type { DnsAnswer, MxRecord } from '../../../net/dns-types.ts';
import type { CachingResolver } from '../../../net/resolver.ts';
import { createEndpoints } from './endpoints.ts';

it('whether a domain has a TLS policy is asked again after a minute, or once its DNS is forgotten', async () => {
  const clock = createVirtualClock();
  let secure = false;
  const mx = async (): Promise<DnsAnswer<MxRecord>> => ({
    ...{ kind: 'found', records: [{ preference: 1, exchange: 'mx.example.net' }], ttlSeconds: 60 },
    secure,
  });
  const endpoints = createEndpoints(
    {
      resolver: { of: () => ({ mx }), flush() {} } as unknown as CachingResolver,
      random: createSystemRandom(),
      clock,
      filter: { check: () => ({ allowed: true, listed: false }) },
      mtaSts: { policyOf: async () => null },
      counters: { count() {} },
      egressMemory: createEgressFacts(clock).fresh(),
    },
    { mxPort: 25, ipv6: false },
  );
  const asks = () => endpoints.asksForTls('example.net', 'example.com');
  expect(await asks()).toBe(false);
  secure = true;
  expect(await asks()).toBe(false);
  endpoints.forget('example.net');
  expect(await asks()).toBe(true);
  secure = false;
  await clock.advance(60_000);
  expect(await asks()).toBe(false);
});
