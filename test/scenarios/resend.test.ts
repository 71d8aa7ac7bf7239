/** A copy of an accepted message: to its recipient or somebody else, as a message of its own, for nobody who may not read it. */
import { beforeAll, describe, expect, it } from 'vitest';
import { type SmtpSink, startSmtpSink } from '../fakes/smtp-sink.ts';
import { addDomain, fileScope, type Instance, makeToken, startInstance } from './harness.ts';

const scope = fileScope();
let server: Instance;
let far: SmtpSink;
let token: string;

beforeAll(async () => {
  far = await startSmtpSink();
  scope.defer(() => far.close());
  server = await startInstance(scope, { settings: { route: `smtp://127.0.0.1:${far.port}` } });
  token = await addDomain(server, 'example.com');
});

const resend = (id: string, body: object, by = token, headers = {}) =>
  server.call('POST', `/email/${id}/resend`, { token: by, body, headers });

describe('POST /email/{id}/resend', () => {
  it('sends what was composed once more, as a message of its own', async () => {
    const id = await server.send({ To: [{ email: 'ada@far.test' }], Tags: ['first'] }, { token });
    await server.settled(id);
    const answer = await resend(id, {});
    expect(answer.status).toBe(200);
    const again = answer.json.MessageID;
    expect(again).not.toBe(id);
    expect(answer.headers.get('location')).toBe(`/api/v1/email/${again}`);
    const { Recipients } = await server.settled(again);
    expect(Recipients).toMatchObject([{ Email: 'ada@far.test', Status: 'Delivered' }]);
    const [before, after] = far.messages.slice(-2).map(({ data }) => data.toString('latin1'));
    expect(after).toContain(`Message-ID: <${again}@`);
    const body = (text: string | undefined) => text?.slice(text.indexOf('\r\n\r\n'));
    expect(body(after)).toBe(body(before));
    expect((await server.call('GET', `/email/${again}`, { token })).json.Tags).toEqual(['first']);
    expect(await server.statusOf(id)).toBe('Delivered');
  });

  it('goes to somebody else, once for an Idempotency-Key', async () => {
    const id = await server.send({ To: [{ email: 'ada@far.test' }, { email: 'bob@far.test' }] }, { token });
    const unsaid = await resend(id, {});
    expect([unsaid.status, unsaid.text]).toEqual([422, expect.stringContaining('To is required')]);
    const key = { 'idempotency-key': 'resend-1' };
    const first = await resend(id, { To: 'grace@far.test' }, token, key);
    const second = await resend(id, { To: 'grace@far.test' }, token, key);
    expect(second.json).toEqual(first.json);
    await server.settled(first.json.MessageID);
    expect(far.messages.filter(({ rcpts }) => rcpts.includes('grace@far.test'))).toHaveLength(1);
  });

  it('is refused to others, without the right to read, for the sandbox and for what is gone', async () => {
    const id = await server.send({ To: [{ email: 'ada@far.test' }] }, { token });
    const sender = await makeToken(server, { Domains: ['example.com'], Preset: 'Send' });
    expect((await resend(id, {}, sender)).status).toBe(403);
    const stranger = await addDomain(server, 'other.example');
    expect((await resend(id, {}, stranger)).status).toBe(404);
    expect((await resend(id, { To: 'no address' })).status).toBe(422);
    const played = await server.send({ Sandbox: true }, { token });
    expect((await resend(played, {})).status).toBe(409);
    const gone = await server.send({ KeepContent: false, To: [{ email: 'ada@far.test' }] }, { token });
    await server.settled(gone);
    expect((await resend(gone, {})).status).toBe(410);
  });
});
