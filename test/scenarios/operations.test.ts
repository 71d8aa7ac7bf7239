/** Operating the server: health, metrics, both logs, and what must never be in them. */
import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import { startScriptedMx } from '../fakes/scripted-mx.ts';
import {
  addDomain,
  email,
  fileScope,
  type Instance,
  makeToken,
  request,
  startInstance,
  until,
} from './harness.ts';
import { startReceiver } from './webhook-receiver.ts';

const scope = fileScope();
let server: Instance;
let token: string;

beforeAll(async () => {
  server = await startInstance(scope);
  token = await addDomain(server, 'example.com');
});

describe('health', () => {
  it('/healthz and /readyz answer without a token', async () => {
    const health = await request('GET', `${server.server.localUrl}/healthz`);
    expect([health.status, health.json.Status]).toEqual([200, 'ok']);
    const ready = await request('GET', `${server.server.localUrl}/readyz`);
    expect([ready.status, ready.json.Status]).toEqual([200, 'ok']);
    for (const check of ready.json.Checks)
      expect(check).toMatchObject({ Name: expect.any(String), Ok: true });
  });

  it('/readyz says with 503 which condition is not met', async () => {
    const settings = { route: 'smtp://127.0.0.1:9', retry: '1h' };
    const before = await startInstance(scope, { settings: { ...settings, roles: 'http' } });
    const own = await addDomain(before, 'example.com');
    for (let i = 0; i < 2; i++) await before.send({}, { token: own });
    await before.stop();
    const full = await startInstance(scope, {
      folder: before.folder,
      settings: { ...settings, 'queue-limit': '1' },
    });
    const answer = await until('it is not ready', async () => {
      const ready = await request('GET', `${full.server.localUrl}/readyz`);
      return ready.status === 503 ? ready : null;
    });
    expect(answer.json.Checks.find(({ Ok }: { Ok: boolean }) => !Ok)).toMatchObject({
      Detail: expect.stringContaining('2 recipients are waiting'),
    });
    expect(answer.headers.get('retry-after')).toMatch(/^\d+$/);
  });
});

describe('/metrics', () => {
  it('is Prometheus text that counts what was done', async () => {
    await server.settled(await server.send({}, { token }));
    const { status, text, headers } = await request('GET', `${server.server.localUrl}/metrics`, {
      token: server.token,
    });
    expect(status).toBe(200);
    expect(headers.get('content-type')).toContain('text/plain');
    const families = new Map<string, string>();
    for (const line of text.split('\n').filter(Boolean)) {
      const type = /^# TYPE ([a-zA-Z_:][\w:]*) (counter|gauge|histogram|summary)$/.exec(line);
      if (type !== null) families.set(type[1] ?? '', type[2] ?? '');
      else if (line.startsWith('#')) expect(line).toMatch(/^# HELP [a-zA-Z_:][\w:]* .+/);
      else
        expect(line).toMatch(
          /^[a-zA-Z_:][\w:]*(\{([a-zA-Z_]\w*="(\\.|[^"\\])*",?)*\})? (-?[\d.e+-]+|NaN|[+-]Inf)$/,
        );
    }
    expect(text).toMatch(/^postrider_\w*accepted\w*(\{[^}]*\})? [1-9]/m);
    expect(text).not.toContain('@');
  });

  it('has the figures that the reference names, and no others', async () => {
    // With every part that counts something.
    const whole = await startInstance(scope, {
      settings: { 'shared-store': 'true', returns: '127.0.0.1:0', 'bounce-domain': 'bounces.example.com' },
    });
    const { text } = await request('GET', `${whole.server.localUrl}/metrics`, { token: whole.token });
    const families = [...text.matchAll(/^# TYPE (postrider_\w+) /gm)].map(([, name]) => name);
    const page = readFileSync('docs/reference/metrics.md', 'utf8');
    const named = [...page.matchAll(/^\| `(postrider_\w+)` /gm)].map(([, name]) => name);
    expect(families.toSorted()).toEqual(named.toSorted());
  });

  it('is for an administrator of all domains, from wherever he asks', async () => {
    const url = `${server.server.localUrl}/metrics`;
    expect((await request('GET', url)).status).toBe(401);
    expect((await request('GET', url, { token })).status).toBe(403);
    const limited = await makeToken(server, { Domains: ['example.com'], Preset: 'Admin' });
    expect((await request('GET', url, { token: limited })).status).toBe(403);
    expect((await request('GET', url, { token: server.token })).status).toBe(200);
  });

  it('answers the addresses of metrics-from without a token, but nobody through a proxy', async () => {
    const open = await startInstance(scope, { settings: { 'metrics-from': '127.0.0.1' } });
    const url = `${open.server.localUrl}/metrics`;
    expect((await request('GET', url)).status).toBe(200);
    expect((await request('GET', url, { headers: { 'x-forwarded-for': '192.0.2.1' } })).status).toBe(401);
    expect((await request('GET', url, { headers: { forwarded: 'for=192.0.2.1' } })).status).toBe(401);
    const closed = await startInstance(scope, { settings: { 'metrics-from': '192.0.2.0/24' } });
    expect((await request('GET', `${closed.server.localUrl}/metrics`)).status).toBe(401);
  });
});

describe('the logs', () => {
  it('are JSON lines in two streams with a sentence each', () => {
    expect(server.logs.length).toBeGreaterThan(3);
    for (const line of server.logs) {
      expect(line).toMatchObject({
        level: expect.stringMatching(/^(debug|info|warn|error)$/),
        msg: expect.any(String),
      });
      expect(['mail', 'service']).toContain(line.stream);
      expect(String(line.time)).toMatch(/^\d{4}-\d\d-\d\dT/);
    }
  });

  it('tell a message’s life in the mail stream under stable names', async () => {
    const id = await server.send({}, { token });
    await server.settled(id);
    const own = server.logs.filter((line) => line.stream === 'mail' && line.messageId === id);
    expect(own.map(({ msg }) => msg)).toEqual(['accepted', 'delivered']);
    for (const line of own) expect(line.to).toBe('reader@example.net');
  });

  it('never name an address in the service stream, whatever remote servers say', async () => {
    const mx = await startScriptedMx({ banner: '554 5.7.1 reader@example.net and you: no' });
    scope.defer(() => mx.close());
    const relaying = await startInstance(scope, {
      settings: { route: `smtp://127.0.0.1:${mx.port}`, retry: '1h' },
    });
    const own = await addDomain(relaying, 'example.com');
    const id = await relaying.send({}, { token: own });
    await until('it waits', async () => (await relaying.statusOf(id)) !== 'Sending');
    await until('it is logged', () => relaying.logs.some(({ msg }) => msg === 'deferred'));
    await relaying.stop();
    const service = relaying.logs.filter(({ stream }) => stream === 'service');
    expect(service.map(({ msg }) => msg)).toContain('site blocked');
    for (const line of service) expect(JSON.stringify(line)).not.toMatch(/[\w.]+@[\w.]+/);
  });

  it('mask recipients where the operator wants that', async () => {
    const masked = await startInstance(scope, { settings: { 'mask-addresses': 'on' } });
    const own = await addDomain(masked, 'example.com');
    await masked.settled(
      await masked.send({ To: [{ email: 'bounced+jane@simulator.test' }] }, { token: own }),
    );
    expect(masked.logText()).not.toContain('bounced+jane@');
    expect(masked.logText()).toContain('***@simulator.test');
  });

  it('hold no token, secret, password, key, subject or content after every kind of request', async () => {
    const receiver = await startReceiver(scope);
    const mx = await startScriptedMx({ capabilities: ['PIPELINING', 'AUTH PLAIN LOGIN'] });
    scope.defer(() => mx.close());
    const busy = await startInstance(scope, {
      settings: {
        route: `smtp://someone:relay-password@127.0.0.1:${mx.port}`,
        'allow-networks': '127.0.0.0/8',
        'secret-key': 'ab'.repeat(32),
      },
    });
    const own = await addDomain(busy, 'example.com', { Preset: 'Full' });
    const hook = await busy.call('POST', '/webhooks', {
      token: own,
      body: { Event: 'all', WebhookURL: `${receiver.url}?secret=query-secret` },
    });
    const extra = await makeToken(busy, { Domains: ['example.com'] });
    const body = email({ Subject: 'subject-secret', HTMLContent: '<p>content-secret</p>' });
    const sent = await busy.call('POST', '/email', { token: own, body, headers: { 'idempotency-key': 'k' } });
    await busy.settled(sent.json.MessageID);
    await receiver.next('the delivery is told', ({ json }) => json.data.Event === 'delivered');
    const paths = [
      '/email',
      '/events',
      '/webhooks',
      '/domains',
      '/tokens',
      '/me',
      '/sandbox/messages',
      '/nowhere',
    ];
    for (const path of paths) {
      for (const given of [own, `${own}x`, 'bearer-secret', null]) {
        await busy.call('GET', path, { token: given });
        await busy.call('POST', path, { token: given, body: '{"broken' });
        await busy.call('DELETE', `${path}/1`, { token: given });
      }
    }
    await busy.call('POST', `/webhooks/${hook.json.NewWebhookID}/test`, { token: own });
    await busy.stop();
    const text = busy.logText();
    for (const secret of [own, extra, busy.token]) {
      expect(text).not.toContain(secret);
      expect(text).not.toContain(secret.split('.')[2]);
    }
    for (const secret of [
      ...['relay-password', 'query-secret', 'subject-secret', 'content-secret', 'bearer-secret'],
      ...[hook.json.Secret, 'whsec_', 'ab'.repeat(32), 'PRIVATE KEY'],
    ]) {
      expect(text, secret).not.toContain(secret);
    }
    expect(text).toContain('delivered');
  });
});

describe('stopping', () => {
  it('finishes what is being sent, gives back the rest, and refuses nothing it has taken', async () => {
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const mx = await startScriptedMx({
      dot: [{ do: 'wait', until: held, next: '250 2.0.0 ok' }, '250 2.0.0 ok'],
    });
    scope.defer(() => mx.close());
    const settings = { route: `smtp://127.0.0.1:${mx.port}`, 'max-connections': '1' };
    const first = await startInstance(scope, { settings });
    const own = await addDomain(first, 'example.com');
    const ids: string[] = [];
    for (let i = 0; i < 10; i++) ids.push(await first.send({ Subject: `${i}` }, { token: own }));
    await until('one is in flight', () => mx.connections.some(({ messages }) => messages.length > 0));
    const stopped = first.stop();
    release();
    await stopped;
    const second = await startInstance(scope, { folder: first.folder, settings });
    for (const id of ids) expect((await second.settled(id)).Status).toBe('Delivered');
    const received = mx.connections.flatMap(({ messages }) => messages);
    expect(received).toHaveLength(10);
  });
});
