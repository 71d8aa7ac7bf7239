/**
 * A server with `http-certificate`: mail, streams and people over HTTP/2 with their guards, commands of the same machine
 * beside them, a certificate that is renewed, and the sentences where one cannot be used.
 */
import { X509Certificate } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Http2Client, openHttp2 } from '../fakes/http2-client.ts';
import { freePort } from '../fakes/own-postfix.ts';
import { createTestCa } from '../fakes/test-certificates.ts';
import { command } from './commands.ts';
import {
  addDomain,
  email,
  fileScope,
  type Instance,
  startInstance,
  temporaryFolder,
  until,
} from './harness.ts';
import { PROJECT } from './how-to-page.ts';

const scope = fileScope();
const HOST = 'mail.postrider.test';
const Password = 'correct horse battery';
const ca = createTestCa();
let files: { cert: string; key: string };
let port: number;
let server: Instance;
let client: Http2Client;
let token: string;

/** What docs/howto/https.md says, with our own files and a port that a test can have. */
async function settings(): Promise<Record<string, string>> {
  const page = await readFile(`${PROJECT}docs/howto/https.md`, 'utf8');
  const [, block = ''] = /^```json\n([\s\S]*?)^```$/m.exec(page) ?? [];
  const fitted = {
    ...{ hostname: HOST, http: `127.0.0.1:${port}` },
    ...{ 'http-certificate': files.cert, 'http-certificate-key': files.key },
  };
  expect(Object.keys(JSON.parse(block)).sort()).toEqual(Object.keys(fitted).sort());
  return fitted;
}

async function install(): Promise<string> {
  const made = ca.issue({ names: [HOST] });
  await writeFile(files.key, made.key);
  await writeFile(files.cert, made.cert);
  return new X509Certificate(made.cert).serialNumber;
}

beforeAll(async () => {
  const folder = await temporaryFolder(scope);
  files = { cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem') };
  port = await freePort();
  await install();
  server = await startInstance(scope, {
    settings: await settings(),
    trust: { ca: [ca.cert], mtaStsPort: 9 },
  });
  token = await addDomain(server, 'example.com', { Preset: 'Full' });
  client = await openHttp2({ port, ca: ca.cert, host: HOST });
  scope.defer(() => client.close());
});

const json = { 'content-type': 'application/json' };
const authority = () => `${HOST}:${port}`;

it('names its URL with https in the log of the start', () => {
  expect(server.logs.find(({ msg }) => msg === 'started')).toMatchObject({ url: `https://${HOST}:${port}` });
});

it('takes mail over HTTP/2 and streams its events as they come', async () => {
  const headers = { authorization: `Bearer ${token}` };
  const stream = client.session.request({ ':path': '/api/v1/events/stream', ...headers });
  scope.defer(() => stream.close());
  let text = '';
  const opened = new Promise((resolve) => stream.once('data', resolve));
  stream.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  await opened;
  const sent = await client.send('POST', '/api/v1/email', { ...headers, ...json }, JSON.stringify(email()));
  expect(sent.status).toBe(200);
  await until('the events came', () => text.includes('event: accepted') && text.includes('event: delivered'));
  // Beside it, the connection serves others.
  expect((await client.send('GET', '/api/v1/me', headers)).status).toBe(200);
});

it('frees the places of streams that are taken back at once', async () => {
  const headers = { authorization: `Bearer ${token}` };
  for (let n = 0; n < 80; n++) {
    const stream = client.session.request({ ':path': '/api/v1/events/stream', ...headers });
    stream.on('error', () => undefined);
    // Before, while and after the server answers.
    if (n % 3 === 0) stream.close(8);
    else if (n % 3 === 1) setImmediate(() => stream.close(8));
    else stream.once('response', () => stream.close(8));
    await new Promise((resolve) => stream.once('close', resolve));
  }
  for (let n = 0; n < 5; n++) {
    const status = await until('a place is free', async () => {
      const stream = client.session.request({ ':path': '/api/v1/events/stream', ...headers });
      scope.defer(() => stream.close());
      const got = await new Promise((resolve) => stream.once('response', (head) => resolve(head[':status'])));
      return got === 429 ? null : got;
    });
    expect(status).toBe(200);
  }
});

it('calls itself by its host name, with https', async () => {
  expect(server.server.publicUrl).toBe(`https://${authority()}`);
  const home = await client.send('GET', '/', { accept: '*/*' });
  expect(JSON.parse(home.text).API).toBe(`https://${authority()}/api/v1`);
});

it('lets people sign in over it, at its own host, with a cookie that is only for HTTPS', async () => {
  const Email = 'ada@example.org';
  await server.call('POST', '/people', { body: { Email, Password, Role: 'operator' } });
  const own = {
    ':authority': authority(),
    origin: `https://${authority()}`,
    'x-postrider-dashboard': '1',
    ...json,
  };
  const signIn = (headers: Record<string, string>) =>
    client.send('POST', '/api/v1/session', headers, JSON.stringify({ Email, Password }));
  const signedIn = await signIn(own);
  const [set = ''] = signedIn.headers['set-cookie'] ?? [];
  expect([signedIn.status, set]).toEqual([
    200,
    expect.stringMatching(/^__Host-postrider=.+; Secure; Path=\/;/),
  ]);
  const cookie = set.split(';')[0] ?? '';
  const ask = (headers: object) => client.send('GET', '/api/v1/session', { ...own, cookie, ...headers });
  expect((await ask({})).status).toBe(200);
  // A name that somebody lets lead here, and pages of others.
  expect((await ask({ ':authority': 'rebound.test' })).status).toBe(403);
  expect((await ask({ host: 'rebound.test' })).status).toBe(400);
  expect((await signIn({ ...own, origin: 'https://rebound.test' })).status).toBe(403);
  const { 'x-postrider-dashboard': _, ...unmarked } = own;
  expect((await signIn(unmarked)).status).toBe(403);
});

it('serves the dashboard over it', async () => {
  const page = await client.send('GET', '/', { ':authority': authority(), accept: 'text/html' });
  expect([page.status, page.headers['content-security-policy']]).toEqual([
    200,
    expect.stringContaining('self'),
  ]);
  expect(page.headers['strict-transport-security']).toMatch(/^max-age=/);
});

it('is reached by commands of the same machine as before', async () => {
  const shown = await command(['domain', 'list', '--data', server.folder]);
  expect([shown.code, shown.stdout, shown.stderr]).toEqual([0, expect.stringContaining('example.com'), '']);
});

it('is examined by the doctor', async () => {
  const { json: found } = await server.call('GET', '/doctor?Part=server');
  const check = found.Instance.find(({ Name }: { Name: string }) => Name === 'https');
  expect(check).toMatchObject({ Status: 'Ok', Host: HOST, Message: expect.stringContaining('2049-12-31') });
});

describe('a renewed certificate', () => {
  const shown = () =>
    new Promise<string>((resolve, reject) => {
      const socket = connect({ host: '127.0.0.1', port, ca: ca.cert, servername: HOST }, () => {
        resolve(socket.getPeerCertificate().serialNumber);
        socket.destroy();
      });
      socket.on('error', reject);
    });

  it('is used from the next connection on; one that is half written is not', async () => {
    const before = await shown();
    const serial = await install();
    await server.server.reload();
    expect(await shown()).toBe(serial);
    expect(serial).not.toBe(before);
    await writeFile(files.cert, ca.issue({ names: [HOST] }).cert.slice(0, 300));
    await server.server.reload();
    expect(await shown()).toBe(serial);
    const told = server.logs.filter(({ level }) => level === 'error').map(({ msg }) => msg);
    expect(told).toEqual([
      `${files.cert} is not a certificate in PEM form; the certificate before, until 2049-12-31, stays in use. Write the whole file again.`,
    ]);
    const last = await install();
    await until('the new one is used without being told', async () => (await shown()) === last);
  });
});

describe('without a usable certificate the server does not start', () => {
  it.each([
    ['no such file', '/nowhere.pem', /^\/nowhere\.pem cannot be read: there is no such file or folder\. Put/],
    ['no certificate', import.meta.filename, /^\S+https\.test\.ts is not a certificate in PEM form\. Write/],
  ])('%s', async (_, cert, sentence) => {
    const made = ca.issue({ names: [HOST] });
    const key = join(await temporaryFolder(scope), 'key.pem');
    await writeFile(key, made.key);
    const bad = { 'http-certificate': cert, 'http-certificate-key': key };
    await expect(startInstance(scope, { settings: bad })).rejects.toThrow(sentence);
  });
});

it('tells of certificate files as they are now, whenever the server was examined', async () => {
  const told = async () => {
    const { json } = await server.call('GET', '/attention');
    return json.Items.filter(({ Subject }: { Subject: string }) => Subject === 'certificates').length;
  };
  await server.call('GET', '/doctor?Part=server');
  expect(await told()).toBe(0);
  await writeFile(files.key, 'no key');
  await server.server.reload();
  expect(await told()).toBe(1);
  await install();
  await server.server.reload();
  expect(await told()).toBe(0);
});

it('commands need no certificate where no server runs', async () => {
  const folder = await temporaryFolder(scope);
  const bad = { 'http-certificate': '/nowhere.pem', 'http-certificate-key': '/nowhere.key' };
  await writeFile(join(folder, 'postrider.json'), JSON.stringify(bad));
  const made = await command(['user', 'add', 'ada@example.org', '--generate', '--data', folder]);
  expect([made.code, made.stderr]).toEqual([0, expect.not.stringContaining('nowhere')]);
});
