/**
 * What comes from outside never keeps the server from answering: mail to the returns listener, mail to servers without
 * 8BITMIME, personal links, answers of
 * webhook receivers, and answers of DNS to the doctor. The far ends are in other
 * threads, and the longest stretch of work of the server's thread without a return to its event loop is measured in
 * processor time, the shortest of some tries.
 */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { describe, expect, it } from 'vitest';
import { createAskingThread } from '../fakes/asking-thread.ts';
import { DKIM_RECORDS } from '../fakes/dkim-pair.ts';
import type { FakeRecords, FakeZones } from '../fakes/fake-dns.ts';
import { startSmtpSink } from '../fakes/smtp-sink.ts';
import { longestTurnMs, shortestTurnMs } from '../fakes/thread-cpu.ts';
import { addDomain, fileScope, startInstance, temporaryFolder, until } from '../scenarios/harness.ts';
import { readMail } from '../scenarios/signed-mail.ts';
import { many, nested, text } from './worst-requests.ts';

const LIMIT_MS = 50;
const TRIES = 5;

const scope = fileScope();
const asker = createAskingThread();
scope.defer(asker.end);

/** The shortest of some tries; `begin` starts the work in another thread and gives what ends with it. */
async function shortest(begin: () => Promise<unknown>): Promise<number> {
  return shortestTurnMs(LIMIT_MS, () => {
    const ended = begin();
    return longestTurnMs(() => ended);
  });
}

describe('no mail to the returns listener holds the event loop', () => {
  const MAIL_BYTES = 2_000_000;
  const report = (type: string, body: string, head = '') =>
    `From: MAILER-DAEMON@mx.reader.example\r\nSubject: Returned\r\n${head}MIME-Version: 1.0\r\nContent-Type: multipart/report; report-type=${type}; boundary=b\r\n\r\n--b\r\nContent-Type: text/plain\r\n\r\nIt failed.\r\n--b\r\n${body}\r\n--b--\r\n`;
  const dsnOf = (block: string) =>
    report(
      'delivery-status',
      `Content-Type: message/delivery-status\r\n\r\nReporting-MTA: dns; mx.reader.example\r\n\r\n${text(MAIL_BYTES, block)}`,
    );
  const encoded = (encoding: string, body: string) =>
    report(
      'delivery-status',
      `Content-Type: message/delivery-status\r\nContent-Transfer-Encoding: ${encoding}\r\n\r\n${body}`,
    );
  const plain = (body: string, head = '') =>
    `From: MAILER-DAEMON@mx.reader.example\r\nSubject: Undeliverable\r\n${head}\r\n${body}`;
  const signedFive = (domain: string, forms: string, body: string) =>
    report(
      'feedback-report',
      `Content-Type: message/feedback-report\r\n\r\nFeedback-Type: abuse\r\nVersion: 1\r\n\r\n--b\r\n\r\n${text(MAIL_BYTES, body)}`,
      `DKIM-Signature: v=1; a=rsa-sha256; c=${forms}; d=${domain}; s=s1; h=from; bh=aaaa; b=aaaa\r\n`.repeat(
        5,
      ),
    );
  const shapes: Record<string, () => string> = {
    'of many recipients': () =>
      dsnOf('Final-Recipient: rfc822; a@b.example\r\nAction: failed\r\nStatus: 5.1.1\r\n\r\n'),
    'of blocks of one line': () => dsnOf('Action: failed\r\n\r\n'),
    'of blocks that say nothing': () => dsnOf('a:\r\n\r\n'),
    'of one long diagnostic': () =>
      dsnOf(
        `Final-Recipient: rfc822; a@b.example\r\nAction: failed\r\nStatus: 5.1.1\r\nDiagnostic-Code: smtp; 550 ${text(1_900_000, '5.1.1 no such user\r\n ')}\r\n\r\n`,
      ),
    'of many header lines': () => plain('x\r\n', text(MAIL_BYTES, 'X-A: b\r\n')),
    'of one folded header': () => plain('x\r\n', `X-A: b\r\n${text(MAIL_BYTES, ' c\r\n')}`),
    'of encoded words': () => plain('x\r\n', `Subject: ${text(MAIL_BYTES, '=?utf-8?q?a=20b?=\r\n ')}x\r\n`),
    'of nested parts': () => `MIME-Version: 1.0\r\n${nested('mixed', 30_000)}x\r\n`,
    'of lines like the boundaries of nested parts': () =>
      `MIME-Version: 1.0\r\n${nested('mixed', 16)}\r\n${text(MAIL_BYTES, '--\r\n')}`,
    'of nested messages': () => text(MAIL_BYTES, 'Content-Type: message/rfc822\r\n\r\n'),
    'of empty parts': () =>
      `MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n${text(MAIL_BYTES, '--b\r\n\r\n')}`,
    'of base64': () =>
      encoded(
        'base64',
        text(MAIL_BYTES, `${Buffer.from(text(57, 'Action: failed\r\n\r\n')).toString('base64')}\r\n`),
      ),
    'of quoted-printable': () => encoded('quoted-printable', text(MAIL_BYTES, '=41=63=74=0D=0A=\r\n')),
    'of feedback': () =>
      report(
        'feedback-report',
        `Content-Type: message/feedback-report\r\n\r\nFeedback-Type: abuse\r\nVersion: 1\r\n${text(MAIL_BYTES, 'Original-Rcpt-To: a@b.example\r\nReported-URI: x\r\n')}`,
      ),
    'of feedback with references': () =>
      report(
        'feedback-report',
        `Content-Type: message/feedback-report\r\n\r\nFeedback-Type: abuse\r\nVersion: 1\r\n\r\n--b\r\nContent-Type: text/rfc822-headers\r\n\r\n${text(MAIL_BYTES, 'X-Postrider-Ref: 00000000000000-0000000000000000\r\nList-Unsubscribe: <mailto:u-00000000000000-0000000000000000@x>\r\n')}`,
      ),
    'of replies in plain text': () => plain(text(MAIL_BYTES, '<a@b.example>: 550 5.1.1 user unknown\r\n')),
    'of empty lines': () => plain(text(MAIL_BYTES, '\r\n')),
    'of blanks': () => plain(text(MAIL_BYTES, `${text(60_000, ' ')}\r\n`)),
    'signed many times': () =>
      plain(
        text(1_000_000, 'x\r\n'),
        text(
          900_000,
          'DKIM-Signature: v=1; a=rsa-sha256; d=x.example; s=s; h=from:from; bh=aaaa; b=aaaa\r\n',
        ),
      ),
    'signed by strangers': () => signedFive('x.example', 'relaxed/relaxed', `${text(60_000, 'a\t')}\r\n`),
    'signed by a provider': () =>
      signedFive('arf.mail.yahoo.com', 'relaxed/relaxed', `${text(60_000, 'a\t')}\r\n`),
    'signed many times by a provider': () =>
      report(
        'feedback-report',
        `Content-Type: message/feedback-report\r\n\r\nFeedback-Type: abuse\r\nVersion: 1\r\n\r\n--b\r\n\r\n${text(1_000_000, 'x  \r\n')}`,
        text(
          900_000,
          'DKIM-Signature: v=1; a=rsa-sha256; c=relaxed/relaxed; d=arf.mail.yahoo.com; s=s1; h=from:from; bh=aaaa; b=aaaa\r\n',
        ),
      ),
  };

  it('whatever it brings', { timeout: 300_000 }, async () => {
    const sink = await startSmtpSink();
    scope.defer(() => sink.close());
    const folder = await temporaryFolder(scope);
    const server = await startInstance(scope, {
      folder,
      settings: {
        route: `smtp://127.0.0.1:${sink.port}`,
        returns: '127.0.0.1:0',
        'bounce-domain': 'bounces.example.com',
        dns: await startDns({
          's1._domainkey.arf.mail.yahoo.com': { TXT: [DKIM_RECORDS['pr1._domainkey.example.com'] ?? ''] },
        }),
        'log-level': 'warn',
      },
    });
    const token = await addDomain(server, 'example.com');
    const messageId = await server.send({ ListUnsubscribe: true }, { token });
    await server.settled(messageId);
    const path = sink.messages[0]?.from ?? '';
    const list = readMail(sink.messages[0]?.data ?? Buffer.alloc(0)).header('list-unsubscribe')[0] ?? '';
    const optOut = /<mailto:([^?>]*)/.exec(list)?.[1] ?? '';
    const read = async () =>
      (await readdir(join(folder, 'spool', 'returns'))).every((name) => !name.endsWith('.eml'));
    const port = server.server.returns?.port ?? 0;
    const slow: string[] = [];
    for (const [name, make] of Object.entries(shapes)) {
      const made = make();
      const message = Buffer.from(made.slice(0, made.lastIndexOf('\r\n', MAIL_BYTES)));
      // What is for people is kept as a file, and few files of one sender are.
      const keeps = name === 'signed many times by a provider' || name === 'of many header lines';
      for (const to of [
        // As many recipients as one mail may have.
        many(10, () => path),
        many(10, () => optOut),
        ...(keeps ? [['fbl@bounces.example.com'], ['postmaster@bounces.example.com']] : []),
      ]) {
        let reply = '';
        const ms = await shortest(async () => {
          reply = await asker.submit({ port, message, from: to[0] === optOut ? 'a@b.example' : '', to });
          await until('it was read', read);
        });
        if (!reply.startsWith('250') || ms > LIMIT_MS)
          slow.push(`${name} to ${to[0]}: ${ms.toFixed(0)} ms, ${reply}`);
      }
    }
    expect(slow).toEqual([]);
  });

  it('when it is passed on to the operator', { timeout: 120_000 }, async () => {
    const sink = await startSmtpSink();
    scope.defer(() => sink.close());
    const server = await startInstance(scope, {
      settings: {
        route: `smtp://127.0.0.1:${sink.port}`,
        returns: '127.0.0.1:0',
        'bounce-domain': 'bounces.example.com',
        'operator-address': 'ops@operator.example',
        'log-level': 'warn',
      },
    });
    await addDomain(server, 'example.com');
    const port = server.server.returns?.port ?? 0;
    const to = many(10, (i) => `${i % 2 === 0 ? 'abuse' : 'postmaster'}@bounces.example.com`);
    let sent = 0;
    // Five of one sender are passed on in an hour.
    const ms = await shortestTurnMs(LIMIT_MS, (n) => {
      if (n === 5) throw new Error('no try was fast enough');
      const message = Buffer.from(
        plain(text(MAIL_BYTES - 1_000, `${n}  \u00e9\t\r\n`), 'X-A: b\r\n'),
        'latin1',
      );
      const ended = asker.submit({ port, message, from: 'ann@reader.example', to }).then(() => {
        sent += 1;
        return until('it was passed on', () => sink.messages.length >= sent);
      });
      return longestTurnMs(() => ended);
    });
    expect(ms).toBeLessThan(LIMIT_MS);
  });
});

/** A far end without 8BITMIME in a thread of its own; `next` resolves when one more message is in. */
async function startSevenBitSink() {
  const worker = new Worker(SINK, {
    eval: true,
    workerData: new URL('../fakes/smtp-sink.ts', import.meta.url).href,
  });
  scope.defer(() => worker.terminate());
  const told = () => new Promise<number>((resolve) => worker.once('message', resolve));
  const port = await told();
  return { port, next: told };
}

const SINK = `
  const { parentPort, workerData } = require('node:worker_threads');
  import(workerData).then(async ({ startSmtpSink }) => {
    const sink = await startSmtpSink({
      eightBitMime: false,
      keepData: false,
      onMessage: () => parentPort.postMessage(0),
    });
    parentPort.postMessage(sink.port);
  });`;

describe('no mail to a server without 8BITMIME holds the event loop', () => {
  const BYTES = 18_000_000;
  const ALIKE = many(16, (i) => 'b'.repeat(i + 1))
    .map((name) => `Content-Type: multipart/mixed; boundary=${name}\r\n\r\n--${name}\r\n`)
    .join('');
  it.each([
    ['of text', '', 'Gr\u00fc\u00dfe an alle, die das lesen.\r\n'],
    ['of nested parts', nested('mixed', 16), '--\r\n'],
    ['of nested parts whose boundaries begin alike', ALIKE, '--bbbbbbbbbbbbbbbbx\r\n'],
    ['of text before the parts', 'Content-Type: multipart/mixed; boundary=b\r\n', '\u00fc\r\n'],
  ])('%s', { timeout: 120_000 }, async (_, head, line) => {
    const sink = await startSevenBitSink();
    const server = await startInstance(scope, {
      mode: 'dev',
      settings: { route: `smtp://127.0.0.1:${sink.port}`, 'log-level': 'warn' },
    });
    await addDomain(server, 'example.com');
    const message = Buffer.from(
      `From: a@example.com\r\nSubject: x\r\nMIME-Version: 1.0\r\n${head}\r\n${text(BYTES, line)}\r\n--b\r\n\r\n\u00fc\r\n`,
    );
    const port = server.server.submission.plain?.port ?? 0;
    const ms = await shortest(async () => {
      const arrived = sink.next();
      expect(await asker.submit({ port, message })).toMatch(/^250 2\.6\.0/);
      await arrived;
    });
    await server.stop();
    expect(ms).toBeLessThan(LIMIT_MS);
  });
});

describe('no visit of a personal link holds the event loop', () => {
  it('whatever it asks or brings', { timeout: 120_000 }, async () => {
    const sink = await startSmtpSink();
    scope.defer(() => sink.close());
    const server = await startInstance(scope, {
      settings: {
        route: `smtp://127.0.0.1:${sink.port}`,
        'public-url': 'https://mail.example.com',
        'log-level': 'warn',
      },
    });
    const token = await addDomain(server, 'example.com');
    await server.settled(await server.send({ ListUnsubscribe: true, Tags: ['a'] }, { token }));
    const list = readMail(sink.messages[0]?.data ?? Buffer.alloc(0)).header('list-unsubscribe')[0] ?? '';
    const unsubscribe = new URL(/<(https?:[^>]*)>/.exec(list)?.[1] ?? 'http://x/none').pathname;
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    const encoded = Buffer.from(`https://example.com/${text(8_000, 'a/')}`).toString('base64url');
    const visits: [status: number, method: string, path: string, body?: string][] = [
      [404, 'GET', `/o/${text(12_000, 'a')}`],
      [404, 'GET', `/o/${text(12_000, '%41')}`],
      [404, 'GET', `/c/${text(12_000, 'a/')}`],
      [404, 'GET', `/c/${text(40, 'a')}/${encoded}`],
      [404, 'GET', `/u/${text(12_000, '-')}`],
      [200, 'GET', `${unsubscribe}?${text(8_000, 'a=b&')}`],
      [404, 'POST', `/u/${text(12_000, 'a')}`, text(60_000, 'a=b&')],
      [200, 'POST', unsubscribe, text(65_000, 'List-Unsubscribe=One-Click&')],
      [200, 'POST', unsubscribe, text(65_000, '%41')],
      [200, 'POST', unsubscribe, text(65_000, '[')],
    ];
    const slow: string[] = [];
    for (const [status, method, path, body] of visits) {
      const ms = await shortest(async () => {
        const told = await asker.ask({
          method,
          url: `${server.server.localUrl}${path}`,
          headers: body === undefined ? {} : form,
          ...(body === undefined ? {} : { body: Buffer.from(body) }),
        });
        if (told.status !== status) slow.push(`${method} ${path.slice(0, 40)}: ${told.status} ${told.text}`);
      });
      if (ms > LIMIT_MS) slow.push(`${method} ${path.slice(0, 40)}: ${ms.toFixed(0)} ms`);
    }
    expect(slow).toEqual([]);
  });
});

/** Answers the n-th of `answers` to a request for `/n`, byte for byte; without a match an empty 200. */
const RECEIVER = `
  const { parentPort, workerData } = require('node:worker_threads');
  const server = require('node:net').createServer((socket) => {
    socket.on('error', () => {});
    socket.on('data', (chunk) => {
      const found = /^POST \\/(\\d+) /.exec(chunk.toString('latin1'));
      if (found) socket.write(workerData[found[1]] ?? 'HTTP/1.1 200 OK\\r\\nContent-Length: 0\\r\\n\\r\\n');
    });
  });
  server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port));`;

async function startRawReceiver(answers: readonly string[]): Promise<string> {
  const worker = new Worker(RECEIVER, { eval: true, workerData: answers });
  scope.defer(() => worker.terminate());
  const port = await new Promise((resolve) => worker.once('message', resolve));
  return `http://127.0.0.1:${port}`;
}

describe('no answer of a webhook receiver holds the event loop', () => {
  it('whatever it brings', { timeout: 120_000 }, async () => {
    const answer = (head: string, body = '') => `HTTP/1.1 200 OK\r\n${head}\r\n${body}`;
    const answers = [
      answer(`${text(15_000, 'a: b\r\n')}Content-Length: 0\r\n`),
      answer(text(1_000_000, 'a: b\r\n')),
      answer(`a: ${text(15_000, 'b')}\r\nContent-Length: 0\r\n`),
      answer(`${text(15_000, 'set-cookie: b\r\n')}Content-Length: 0\r\n`),
      answer('Transfer-Encoding: chunked\r\n', text(2_000_000, '1\r\nx\r\n')),
      answer('Transfer-Encoding: chunked\r\n', `${text(2_000_000, `1;${text(100, 'a')}\r\nx\r\n`)}0\r\n\r\n`),
      answer('Content-Length: 20000000\r\n', text(20_000_000, '\u00e9')),
      answer('Content-Length: 65536\r\nContent-Type: application/json\r\n', text(65_536, '[')),
      answer('Content-Encoding: gzip\r\nContent-Length: 65536\r\n', text(65_536, '\u0000')),
      text(2_000_000, 'HTTP/1.1 100 Continue\r\n\r\n'),
      text(2_000_000, 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n'),
      text(2_000_000, 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'),
      text(2_000_000, '\r\n'),
      text(2_000_000, 'x'),
    ];
    const url = await startRawReceiver(answers);
    const server = await startInstance(scope, {
      settings: { 'allow-networks': '127.0.0.0/8', 'log-level': 'warn' },
    });
    const token = await addDomain(server, 'example.com', { Preset: 'Full' });
    const slow: string[] = [];
    for (const [i, sent] of answers.entries()) {
      const made = await server.call('POST', '/webhooks', {
        token,
        body: { Event: 'bounce', WebhookURL: `${url}/${i}` },
      });
      let told = '';
      const ms = await shortest(async () => {
        const { text, status } = await asker.ask({
          method: 'POST',
          url: `${server.server.localUrl}/api/v1/webhooks/${made.json.NewWebhookID}/test`,
          headers: { authorization: `Bearer ${token}` },
        });
        told = `${status} ${text.slice(0, 150)}`;
      });
      if (!told.startsWith('200 ') || ms > LIMIT_MS)
        slow.push(`${JSON.stringify(sent.slice(0, 60))}: ${ms.toFixed(0)} ms, ${told}`);
    }
    expect(slow).toEqual([]);
  });
});

/** The fake DNS in a thread of its own; `*.` names a wildcard. */
async function startDns(table: FakeZones): Promise<string> {
  const worker = new Worker(DNS, {
    eval: true,
    workerData: { module: new URL('../fakes/fake-dns.ts', import.meta.url).href, table },
  });
  scope.defer(() => worker.terminate());
  return new Promise((resolve) => worker.once('message', resolve));
}

const DNS = `
  const { parentPort, workerData } = require('node:worker_threads');
  import(workerData.module).then(async ({ createFakeDns }) => {
    const dns = await createFakeDns();
    for (const [name, records] of Object.entries(workerData.table))
      if (name.startsWith('*.')) dns.wildcard(name.slice(2), records);
      else dns.set(name, records);
    parentPort.postMessage(dns.text);
  });`;

describe('no answer of DNS holds the event loop', () => {
  it('when the doctor asks', { timeout: 120_000 }, async () => {
    const zones: Record<string, FakeRecords> = {
      'of many texts': { TXT: many(3_000, (i) => `v=spf1 a${i} -all`) },
      'of long texts': { TXT: many(15, () => text(4_000, 'v=spf1 include:a ')) },
      'of includes': { TXT: [`v=spf1 ${text(4_000, 'include:%{i}.x.example ')}`] },
      'of addresses': {
        A: many(3_000, (i) => `192.0.${i >> 8}.${i & 255}`),
        TXT: [`v=spf1 ${text(1_000, 'a mx ')}`],
        MX: many(1_500, (i) => `m${i}.x.example`),
      },
      'of keys': { TXT: [`v=DKIM1; ${text(60_000, 'k=rsa; ')}p=AAAA`] },
      'of policies': {
        TXT: [`v=DMARC1; p=none; ${text(60_000, 'rua=mailto:a@b.example,mailto:c@d.example; ')}`],
      },
      'of authorities': { CAA: many(2_000, (i) => [0, 'issue', `ca${i}.example`] as const) },
      'of nested includes': { TXT: [`v=spf1 ${many(10, (i) => `include:c${i}.x.example`).join(' ')} -all`] },
      'of aliases': { CNAME: 'c0.y.example', besideAlias: true, TXT: ['x'] },
    };
    const table: FakeZones = {};
    for (let n = 0; n < 50; n += 1) {
      const includes = many(10, (i) => `include:c${n + i + 1}.x.example`).join(' ');
      table[`c${n}.x.example`] = { TXT: [`v=spf1 ${includes} -all`] };
      table[`c${n}.y.example`] = { CNAME: `c${n + 1}.y.example` };
    }
    for (const [i, records] of Object.values(zones).entries())
      for (let n = 0; n < TRIES; n += 1) {
        table[`d${i}-${n}.example`] = records;
        table[`*.d${i}-${n}.example`] = records;
      }
    const server = await startInstance(scope, {
      settings: { dns: await startDns(table), 'log-level': 'warn' },
    });
    const slow: string[] = [];
    for (const [i, name] of Object.keys(zones).entries()) {
      let told = '';
      const domains = many(TRIES, (n) => `d${i}-${n}.example`);
      for (const domain of domains)
        await server.call('POST', '/domains', { body: { Domain: domain, Verified: true } });
      const ms = await shortest(async () => {
        const answer = await asker.ask({
          method: 'POST',
          url: `${server.server.localUrl}/api/v1/domains/${domains.pop()}/verify`,
          headers: { authorization: `Bearer ${server.token}` },
        });
        told = `${answer.status} ${answer.bytes} ${answer.text.slice(0, 150)}`;
      });
      if (!told.startsWith('200 ') || ms > LIMIT_MS) slow.push(`${name}: ${ms.toFixed(0)} ms, ${told}`);
    }
    expect(slow).toEqual([]);
  });
});

describe('no burst of events holds the event loop', () => {
  it('with streams open and webhooks called', { timeout: 120_000 }, async () => {
    const url = await startRawReceiver([]);
    const server = await startInstance(scope, {
      settings: {
        'max-recipients': '1000',
        'allow-networks': '127.0.0.0/8',
        'streams-per-tenant': '50',
        'log-level': 'warn',
      },
    });
    const token = await addDomain(server, 'example.com', { Preset: 'Full' });
    for (let n = 0; n < 5; n += 1)
      await server.call('POST', '/webhooks', { token, body: { Event: 'all', WebhookURL: `${url}/${n}` } });
    const filters = [
      '',
      'Tag=tag1',
      'Recipient=reader1@example.net',
      'Event=delivered',
      'MessageID=none',
      'Event=bounce',
    ];
    for (const path of ['/events/stream', '/sandbox/stream'])
      await asker.follow(
        filters.map((filter) => ({
          method: 'GET',
          url: `${server.server.localUrl}/api/v1${path}?${path === '/events/stream' ? filter : ''}`,
          headers: { authorization: `Bearer ${token}` },
        })),
      );
    const body = Buffer.from(
      JSON.stringify({
        From: { name: '', email: 'a@example.com' },
        To: many(1_000, (i) => ({ name: `Reader ${i}`, email: `reader${i}@example.net` })),
        Subject: text(900, 'x'),
        ContentType: 'HTML',
        HTMLContent: '<p>Hello</p>',
        Tags: many(10, (i) => `tag${i}`),
        Metadata: Object.fromEntries(many(20, (i) => [`k${i}`, text(100, 'x')])),
      }),
    );
    const ms = await shortest(async () => {
      const told = await asker.ask({
        method: 'POST',
        url: `${server.server.localUrl}/api/v1/email`,
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body,
      });
      expect(told).toMatchObject({ status: 200 });
      await until('all mail was captured', async () => {
        const { status, text } = await asker.ask({
          method: 'GET',
          url: `${server.server.localUrl}/api/v1/queue`,
          headers: { authorization: `Bearer ${server.token}` },
        });
        return status === 200 && text.startsWith('{"Waiting":0,"Sending":0,');
      });
    });
    expect(ms).toBeLessThan(LIMIT_MS);
  });
});
