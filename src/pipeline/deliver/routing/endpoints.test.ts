/** What is remembered between two questions about a recipient domain, and for how long. */
import { expect, it } from 'vitest';
import { createEgressFacts } from '../../../../test/fakes/egress-facts.ts';
import { silentLoggers } from '../../../lib/log.ts';
import { createSystemRandom } from '../../../lib/random.ts';
import { createVirtualClock } from '../../../lib/virtual-clock.ts';
import type { DnsAnswer, MxRecord } from '../../../net/dns-types.ts';
import type { CachingResolver } from '../../../net/resolver.ts';
import { createTlsContexts } from '../../../smtp/client-tls.ts';
import { createOpener } from '../tls/opener.ts';
import { createEndpoints } from './endpoints.ts';

function setUp() {
  const clock = createVirtualClock();
  const world = { secure: false, askers: [] as string[] };
  const mx = async (): Promise<DnsAnswer<MxRecord>> => ({
    ...{ kind: 'found', records: [{ preference: 1, exchange: 'mx.example.net' }], ttlSeconds: 60 },
    secure: world.secure,
  });
  const endpoints = createEndpoints(
    {
      resolver: {
        of(asker: string) {
          world.askers.push(asker);
          return { mx };
        },
        flush() {},
        a: async () => ({ kind: 'found', records: [1, 2, 3, 4, 5].map((n) => `192.0.2.${n}`) }),
        aaaa: async () => ({ kind: 'no-data' }),
      } as unknown as CachingResolver,
      random: createSystemRandom(),
      clock,
      filter: { check: () => ({ allowed: true, listed: false }) },
      mtaSts: { policyOf: async () => null },
      countTls() {},
      egressMemory: createEgressFacts(clock).fresh(),
    },
    { mxPort: 25, ipv6: false },
  );
  return { clock, world, endpoints };
}

it('whether a domain has a TLS policy is asked again after a minute, or once its DNS is forgotten', async () => {
  const { clock, world, endpoints } = setUp();
  const asks = () => endpoints.asksForTls('example.net', 'example.com');
  expect(await asks()).toBe(false);
  world.secure = true;
  expect(await asks()).toBe(false);
  endpoints.forget('example.net');
  expect(await asks()).toBe(true);
  world.secure = false;
  await clock.advance(60_000);
  expect(await asks()).toBe(false);
});

it('whether a domain has a TLS policy is asked once for each sender who waits for it', async () => {
  const { world, endpoints } = setUp();
  const senders = ['a.example', 'b.example', 'a.example', 'b.example'];
  const asks = () => Promise.all(senders.map((sender) => endpoints.asksForTls('example.net', sender)));
  expect([...(await asks()), ...(await asks())]).toEqual(Array(8).fill(false));
  expect(world.askers).toEqual(['a.example', 'b.example']);
});

it('all addresses of a relay that is tested are tried, in the little time that the test has', async () => {
  const { clock, endpoints } = setUp();
  const met: string[] = [];
  const opener = createOpener(
    {
      ...{ clock, log: silentLoggers.service, tlsContexts: createTlsContexts(), countTls() {} },
      egressMemory: createEgressFacts(clock).fresh(),
      async connect({ address, timeoutMs }) {
        met.push(address);
        await clock.advance(timeoutMs);
        return { kind: 'timeout', detail: '' };
      },
    },
    { heloName: 'client.example.com' },
  );
  const relay = { kind: 'relay', host: 'relay.example', port: 587, implicitTls: false, auth: null } as const;
  const answer = await endpoints.find(relay, 'example.net', { isTest: true });
  const found = answer.kind === 'endpoints' ? answer.endpoints : [];
  const startMs = clock.monotonicMs();
  for (const endpoint of found) {
    // Where less is left, an address is left to the next attempt.
    if (endpoint.budget.connectLeftMs >= 1_000) {
      await opener.open(endpoint, { signal: new AbortController().signal });
    }
  }
  expect(met).toEqual([1, 2, 3, 4, 5].map((n) => `192.0.2.${n}`));
  expect(clock.monotonicMs() - startMs).toBeLessThanOrEqual(10_000);
});
