/** Mail of one tenant that its receivers do not take keeps out nobody else's, however large it is. */
import { beforeAll, expect, it } from 'vitest';
import { createFakeDns, type FakeDns } from '../fakes/fake-dns.ts';
import { directKit } from './direct-kit.ts';
import { addDomain, email, fileScope, type Instance, until } from './harness.ts';

const scope = fileScope();
let dns: FakeDns;
const kit = directKit(scope, () => dns, '127.71');
let server: Instance;
let other: string;
let greedy: string;

beforeAll(async () => {
  const silent = await kit.farEnd({
    // It says nothing of the size that it takes.
    ehlo: '250-mx.silent.example\n250 PIPELINING',
    dot: { do: 'silence' },
  });
  const good = await kit.farEnd({});
  dns = await createFakeDns({
    'silent.example': { MX: ['mx.silent.example'] },
    'mx.silent.example': { A: [silent.address] },
    'good.example': { MX: ['mx.good.example'] },
    'mx.good.example': { A: [good.address] },
  });
  scope.defer(() => dns.close());
  ({ server, token: other } = await kit.start());
  greedy = await addDomain(server, 'greedy.example');
});

it('large mail to a host that does not answer leaves places for the mail of others', async () => {
  const Attachments = [{ Filename: 'a.bin', Content: Buffer.alloc(14_000_000).toString('base64') }];
  const From = { email: 'a@greedy.example' };
  for (let n = 0; n < 6; n++) {
    const body = email({ From, To: [{ email: `u${n}@silent.example` }], Attachments });
    expect((await server.call('POST', '/email', { token: greedy, body })).status).toBe(200);
  }
  const bytes = async () => {
    const { text } = await server.call('GET', '/../../metrics', {});
    return Number(/^postrider_window_bytes (\d+)/m.exec(text)?.[1]);
  };
  await until('some of it is in memory', async () => (await bytes()) > 30_000_000);
  // The sweep has looked for more of it.
  await new Promise((resolve) => setTimeout(resolve, 6_000));
  expect(await bytes()).toBeLessThan(60_000_000);
  const id = await server.send({ To: [{ email: 'b@good.example' }] }, { token: other });
  expect((await server.settled(id)).Recipients[0]).toMatchObject({ Status: 'Delivered' });
});
