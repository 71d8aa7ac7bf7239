/**
 * docs/howto/reverse-proxy.md with the programs that it is written for: nginx and Caddy are started with the
 * page's own blocks, and a client comes through them over TLS. What is not installed is reported as skipped.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import type { IncomingHttpHeaders } from 'node:http';
import { type RequestOptions, request } from 'node:https';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { makeCertificates } from '../fakes/certificates.ts';
import { freePort } from '../fakes/own-postfix.ts';
import {
  addDomain,
  email,
  fileScope,
  type Instance,
  startInstance,
  temporaryFolder,
  until,
} from '../scenarios/harness.ts';
import { PROJECT } from '../scenarios/how-to-page.ts';

const scope = fileScope();
const certificates = makeCertificates('mail.example.com');
/** A client of its own address, so that it can be told from the proxy. */
const CLIENT = '127.0.0.9';
const STRANGER = '127.0.0.8';

function missing(program: string): boolean {
  if (existsSync(program) && certificates !== null) return false;
  process.stderr.write(`SKIPPED: ${program} is not installed\n`);
  return true;
}

/** The first block of the page in a language that has these words. */
async function block(page: string, language: string, words: string): Promise<string> {
  const text = await readFile(join(PROJECT, 'docs/howto', page), 'utf8');
  const blocks = [...text.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)];
  const found = blocks.find(([, lang, body = '']) => lang === language && body.includes(words));
  if (found?.[2] === undefined) throw new Error(`${page} has no ${language} block with "${words}"`);
  return found[2];
}

/** The block with each text replaced, every one of which must be there. */
function fitted(text: string, replacements: readonly (readonly [string, string])[]): string {
  return replacements.reduce((so, [from, to]) => {
    expect(so).toContain(from);
    return so.replaceAll(from, to);
  }, text);
}

interface Through {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
}

function startProxy(command: string, args: readonly string[]): ChildProcess {
  const child = spawn(command, args, { stdio: ['ignore', 'ignore', 'pipe'] });
  scope.defer(() => {
    child.kill('SIGTERM');
  });
  return child;
}

function describeProxy(name: string, program: string, start: (world: World) => Promise<void>): void {
  describe.skipIf(missing(program))(`${name}, as the page sets it up`, () => {
    let world: World;
    let instance: Instance;
    let token: string;

    beforeAll(async () => {
      const folder = await temporaryFolder(scope);
      instance = await startInstance(scope, {
        settings: {
          'trusted-proxies': '127.0.0.1/32,::1/128',
          'public-url': 'https://mail.example.com',
          'metrics-from': '127.0.0.1/32,::1/128',
        },
      });
      await addDomain(instance, 'example.com');
      const minted = await instance.call('POST', '/tokens', {
        body: { Name: 'proxied', Domains: ['example.com'], Preset: 'Full', IPAllowList: [`${CLIENT}/32`] },
      });
      token = minted.json.Token;
      const { good, ca } = certificates ?? { good: { key: '', cert: '' }, ca: '' };
      const files = { key: join(folder, 'key.pem'), cert: join(folder, 'cert.pem') };
      await writeFile(files.key, good.key);
      await writeFile(files.cert, good.cert);
      const upstream = new URL(instance.server.localUrl).host;
      world = { folder, port: await freePort(), upstream, ca, ...files };
      await start(world);
      await until(`${name} answers`, async () => {
        const answer = await through('/readyz').catch(() => null);
        return answer?.status === 200 ? answer : null;
      });
    });

    function options(path: string, from: string, headers: Record<string, string>): RequestOptions {
      return {
        ...{ host: '127.0.0.1', port: world.port, servername: 'mail.example.com', ca: world.ca },
        ...{ path, localAddress: from, headers: { host: 'mail.example.com', ...headers } },
      };
    }

    function through(
      path: string,
      more: { from?: string; headers?: Record<string, string>; body?: string } = {},
    ): Promise<Through> {
      return new Promise((resolve, reject) => {
        const { from = CLIENT, headers = {}, body } = more;
        const ask = request(
          { ...options(path, from, headers), method: body === undefined ? 'GET' : 'POST' },
          (answer) => {
            let text = '';
            answer.setEncoding('utf8');
            answer.on('data', (chunk: string) => {
              text += chunk;
            });
            answer.on('end', () =>
              resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text }),
            );
          },
        );
        ask.on('error', reject);
        ask.end(body);
      });
    }

    const bearer = () => ({ authorization: `Bearer ${token}`, 'content-type': 'application/json' });

    it('lets the server see the client, and no address that a client made up', async () => {
      const forged = { 'x-forwarded-for': CLIENT };
      expect((await through('/api/v1/me', { headers: bearer() })).status).toBe(200);
      expect((await through('/api/v1/me', { headers: bearer(), from: STRANGER })).status).toBe(403);
      const lied = await through('/api/v1/me', { headers: { ...bearer(), ...forged }, from: STRANGER });
      expect(lied.status).toBe(403);
    });

    it('takes the largest message', async () => {
      const Content = Buffer.alloc(17 * 1024 * 1024, 1).toString('base64');
      const Attachments = [
        { Content, Type: 'application/pdf', Filename: 'a.pdf', Disposition: 'attachment' },
      ];
      const body = JSON.stringify(email({ Attachments }));
      expect(await through('/api/v1/email', { headers: bearer(), body })).toMatchObject({ status: 200 });
    });

    it('passes events on as they come', { timeout: 20_000 }, async () => {
      const seen = new Promise<string>((resolve, reject) => {
        const ask = request(options('/api/v1/events/stream', CLIENT, bearer()), (answer) => {
          let text = '';
          answer.setEncoding('utf8');
          answer.on('data', (chunk: string) => {
            text += chunk;
            // What was sent by an earlier test may still be delivered.
            if (/event: accepted.*event: delivered/s.test(text)) resolve(text);
          });
          // What is sent before the stream is open would not be in it.
          void instance.send();
        });
        ask.on('error', reject);
        ask.end();
        scope.defer(() => ask.destroy());
      });
      expect(await seen).toContain('reader@example.net');
    });

    it('lets people sign in, and tells their browser to come by HTTPS only', async () => {
      const Password = 'correct horse battery';
      const Email = `${name.toLowerCase()}@example.org`;
      await instance.call('POST', '/people', { body: { Email, Password, Role: 'operator' } });
      const page = { origin: 'https://mail.example.com', 'x-postrider-dashboard': '1' };
      const headers = { ...page, 'content-type': 'application/json' };
      const body = JSON.stringify({ Email, Password });
      const signedIn = await through('/api/v1/session', { headers, body });
      expect([signedIn.status, signedIn.headers['strict-transport-security']]).toEqual([
        200,
        'max-age=31536000',
      ]);
      const [set = ''] = signedIn.headers['set-cookie'] ?? [];
      expect(set).toMatch(/^__Host-postrider=.+; Secure; Path=\/;/);
      const cookie = set.split(';')[0] ?? '';
      const own = await through('/api/v1/session', { headers: { ...page, cookie } });
      expect(JSON.parse(own.text).Person).toMatchObject({ Email });
      const open = await through('/api/v1/session/all', { headers: { ...page, cookie } });
      expect(JSON.parse(open.text).Items).toMatchObject([{ Current: true, IP: CLIENT }]);
      const lured = { ...headers, origin: 'https://other.example' };
      expect((await through('/api/v1/session', { headers: lured, body })).status).toBe(403);
    });

    it('shows the figures to nobody without a token', async () => {
      expect((await through('/metrics')).status).toBe(401);
    });
  });
}

interface World {
  folder: string;
  port: number;
  upstream: string;
  ca: string;
  key: string;
  cert: string;
}

describeProxy('nginx', '/usr/sbin/nginx', async ({ folder, port, upstream, key, cert }) => {
  const server = fitted(await block('reverse-proxy.md', 'nginx', 'proxy_pass'), [
    ['listen 443 ssl', `listen 127.0.0.1:${port} ssl`],
    ['/etc/letsencrypt/live/mail.example.com/fullchain.pem', cert],
    ['/etc/letsencrypt/live/mail.example.com/privkey.pem', key],
    ['127.0.0.1:8025', upstream],
  ]);
  const temp = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((what) => `${what}_temp_path ${join(folder, what)};`)
    .join('\n');
  const file = join(folder, 'nginx.conf');
  const head = `daemon off; pid ${join(folder, 'pid')}; error_log stderr; ${process.getuid?.() === 0 ? 'user root;' : ''}`;
  await writeFile(file, `${head}\nevents {}\nhttp {\naccess_log off;\n${temp}\n${server}}\n`);
  execFileSync('/usr/sbin/nginx', ['-t', '-c', file], { stdio: 'pipe' });
  startProxy('/usr/sbin/nginx', ['-c', file]);
});

describeProxy('Caddy', '/usr/bin/caddy', async ({ folder, port, upstream, key, cert }) => {
  const site = fitted(await block('reverse-proxy.md', 'caddyfile', 'reverse_proxy'), [
    // The certificate is ours, and the port nobody else's.
    ['mail.example.com {', `https://mail.example.com:${port} {\n  bind 127.0.0.1\n  tls ${cert} ${key}`],
    ['127.0.0.1:8025', upstream],
  ]);
  const file = join(folder, 'Caddyfile');
  const head = `{\n  admin off\n  auto_https disable_redirects\n  storage file_system ${folder}\n}\n`;
  await writeFile(file, `${head}${site}`);
  startProxy('/usr/bin/caddy', ['run', '--config', file, '--adapter', 'caddyfile']);
});
