/** One tenant can use up what is its own, and nothing of what others need: disk, streams, places to wait. */
import { beforeAll, describe, expect, it } from 'vitest';
import { openStream } from '../../src/listeners/http/streams/test-stream.ts';
import { addDomain, email, fileScope, type Instance, makeToken, startInstance, until } from './harness.ts';

const scope = fileScope();
const LIMIT = 1_048_576;
let server: Instance;
let greedy: string;
let other: string;

beforeAll(async () => {
  server = await startInstance(scope, {
    settings: { 'stored-bytes': String(LIMIT), 'streams-per-tenant': '3' },
  });
  greedy = await addDomain(server, 'greedy.example', { Preset: 'Full' });
  other = await addDomain(server, 'other.example');
});

describe('the disk', () => {
  const large = (from: string, more: object = {}) =>
    email({ From: { email: `a@${from}` }, ContentType: 'Text', PlainContent: 'x'.repeat(200_000), ...more });
  const storage = async (token: string) => (await server.call('GET', '/me', { token })).json.Storage[0];

  it('is refused to who has stored as much as it may, and to nobody else, until there is room again', async () => {
    const SendAt = new Date(Date.now() + 7_200_000).toISOString();
    const waiting: string[] = [];
    const answers: number[] = [];
    for (let i = 0; i < 8; i += 1) {
      const answer = await server.call('POST', '/email', {
        token: greedy,
        body: large('greedy.example', { SendAt, KeepContent: false }),
      });
      answers.push(answer.status);
      if (answer.status === 200) waiting.push(answer.json.MessageID);
      else {
        expect(answer.json.Errors[0].Code).toBe(17);
        expect(answer.text).toContain('greedy.example has');
        expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
      }
    }
    expect(answers.filter((status) => status === 429).length).toBeGreaterThanOrEqual(2);
    expect(waiting.length).toBeGreaterThanOrEqual(4);
    await server.settled(await server.send(large('other.example'), { token: other }));

    const full = await storage(greedy);
    expect(full).toMatchObject({ Domain: 'greedy.example', Limit: LIMIT });
    expect(full.Bytes).toBeGreaterThan(LIMIT - 300_000);
    expect(full.Bytes).toBeLessThanOrEqual(LIMIT);
    // Its own doing counts down.
    for (const id of waiting)
      expect((await server.call('POST', `/email/${id}/cancel`, { token: greedy })).status).toBe(200);
    await until('there is room', async () => {
      const answer = await server.call('POST', '/email', { token: greedy, body: large('greedy.example') });
      return answer.status === 200;
    });
    expect((await storage(greedy)).Bytes).toBeLessThan(LIMIT / 2);
  });
});

describe('streams', () => {
  it('are bounded for one tenant, however many tokens it makes', async () => {
    const child = async () => {
      const made = await server.call('POST', '/tokens', {
        token: greedy,
        body: { Name: 'child', Preset: 'Full' },
      });
      return String(made.json.Token);
    };
    const tokens = [
      greedy,
      await child(),
      await child(),
      await makeToken(server, { Domains: ['greedy.example'] }),
    ];
    const url = `${server.server.localUrl}/api/v1/events/stream`;
    const streams = tokens.flatMap((token) => [openStream(url, token), openStream(url, token)]);
    scope.defer(() => {
      for (const stream of streams) stream.close();
    });
    const statuses = await Promise.all(streams.map((stream) => stream.status));
    expect(statuses.filter((status) => status === 200)).toHaveLength(3);
    expect(statuses.filter((status) => status === 429)).toHaveLength(5);
    const theirs = openStream(url, other);
    scope.defer(() => theirs.close());
    expect(await theirs.status).toBe(200);
    expect((await server.call('GET', '/me', { token: greedy })).json.Limits.StreamsPerTenant).toBe(3);
  });
});
