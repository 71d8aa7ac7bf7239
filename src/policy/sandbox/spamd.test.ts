/** Asking spamd: what is read of its answers, and what happens where it does not answer. The real one where Debian's is installed. */
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../lib/clock.ts';
import { createManualClock } from '../../store/sqlite/test-support.ts';
import { createSpamd, readReport } from './spamd.ts';

const MAIL = Buffer.from('From: a@example.com\r\nSubject: hello\r\n\r\nhello\r\n');
const REPORT = [
  'SPAMD/1.1 0 EX_OK',
  'Content-length: 500',
  'Spam: True ; 6.6 / 5.0',
  '',
  'Spam detection software, running on the system "host",',
  'Content preview:  hello',
  '',
  'Content analysis details:   (6.6 points, 5.0 required)',
  '',
  ' pts rule name              description',
  '---- ---------------------- --------------------------------------------------',
  ' 1.2 MISSING_HEADERS        Missing To: header',
  '-0.0 NO_RELAYS              Informational: message was not relayed via',
  '                            SMTP',
  ' 5.4 SUBJ_ALL_CAPS          Subject is all capitals',
  '',
  '',
].join('\r\n');

let server: Server | undefined;
afterEach(() => server?.close());

/** Listens, and answers a whole request with what `answer` does. */
async function far(
  answer: (socket: Socket, request: Buffer) => void,
): Promise<{ host: string; port: number }> {
  const listening = createServer({ allowHalfOpen: true }, (socket) => {
    const parts: Buffer[] = [];
    socket.on('data', (part) => parts.push(part));
    socket.on('end', () => answer(socket, Buffer.concat(parts)));
    socket.on('error', () => undefined);
  });
  server = listening;
  await new Promise<void>((resolve) => listening.listen(0, '127.0.0.1', resolve));
  return { host: '127.0.0.1', port: (listening.address() as AddressInfo).port };
}

it('sends the mail and reads the points and the rules, whose description may have two lines', async () => {
  let asked = '';
  const at = await far((socket, request) => {
    asked = request.toString();
    socket.end(REPORT);
  });
  expect(await createSpamd({ clock: systemClock }, at)(MAIL, 'a')).toEqual({
    kind: 'checked',
    points: 6.6,
    required: 5,
    rules: [
      { name: 'MISSING_HEADERS', points: 1.2, description: 'Missing To: header' },
      { name: 'NO_RELAYS', points: -0, description: 'Informational: message was not relayed via SMTP' },
      { name: 'SUBJ_ALL_CAPS', points: 5.4, description: 'Subject is all capitals' },
    ],
  });
  expect(asked).toBe(`REPORT SPAMC/1.5\r\nContent-length: ${MAIL.length}\r\n\r\n${MAIL}`);
});

describe('says in a sentence why it was not asked or gave no answer:', () => {
  const why = async (at: { host: string; port: number }, mail: Uint8Array = MAIL, clock = systemClock) => {
    const report = await createSpamd({ clock }, at)(mail, 'a');
    return report.kind === 'not-checked' ? report.why : report;
  };

  it('nobody listens, the mail is too large, the answer is none or too long', async () => {
    const gone = await far(() => undefined);
    server?.close();
    expect(await why(gone)).toMatch(/: ECONNREFUSED$/);
    expect(await why(gone, new Uint8Array(600_000))).toContain('500 KB');
    expect(await why(await far((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')))).toContain(
      'not understood: HTTP/1.1 400',
    );
    expect(await why(await far((socket) => socket.end('SPAMD/1.0 76 Bad header line\r\n')))).toContain('76');
    expect(await why(await far((socket) => socket.end('x'.repeat(100_000))))).toContain('too long');
    expect(await why(await far((socket) => socket.destroy()))).toContain('SpamAssassin');
  });

  it('it is silent, or works for too many already', async () => {
    const clock = createManualClock();
    let asked = 0;
    const at = await far((socket) => {
      asked += 1;
      onTestFinished(() => void socket.destroy());
    });
    const check = createSpamd({ clock }, at);
    const all = ['a', 'a', 'b', 'b'].map((tenant) => check(MAIL, tenant));
    for (const tenant of ['a', 'c']) expect(await check(MAIL, tenant)).toMatchObject({ why: /busy/ });
    await expect.poll(() => asked).toBe(4);
    clock.advance(20_000);
    for (const one of all) expect(await one).toMatchObject({ why: /too long/ });
  });
});

it('reads no rule out of what is none', () => {
  const report = readReport(`SPAMD/1.1 0 EX_OK\r\nSpam: False ; -1 / 5\r\n\r\n 1.0 lower\n 1.0\n  more\n`);
  expect(report).toEqual({ kind: 'checked', points: -1, required: 5, rules: [] });
});

const hasSpamd = spawnSync('spamd', ['--version']).status === 0;
if (!hasSpamd) process.stderr.write('spamd is missing (apt install spamd): its test is skipped\n');

it.skipIf(!hasSpamd)('understands the spamd of Debian', { timeout: 60_000 }, async () => {
  const at = await far(() => undefined);
  server?.close();
  const folder = mkdtempSync(join(tmpdir(), 'spamd-'));
  const child = spawn(
    'spamd',
    [
      '--local',
      '--listen',
      `127.0.0.1:${at.port}`,
      '--max-children',
      '1',
      '--nouser-config',
      '--helper-home-dir',
      folder,
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  );
  onTestFinished(async () => {
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill();
    await ended;
    rmSync(folder, { recursive: true });
  });
  const check = createSpamd({ clock: systemClock }, at);
  const gtube = 'XJS*C4JDBQADN1.NSBN3*2IDNEN*GTUBE-STANDARD-ANTI-UBE-TEST-EMAIL*C.34X';
  const mail = Buffer.from(`From: a@example.com\r\nSubject: hello\r\n\r\n${gtube}\r\n`);
  await expect
    .poll(async () => (await check(mail, 'a')).kind, { timeout: 50_000, interval: 250 })
    .toBe('checked');
  const report = await check(mail, 'a');
  expect(report).toMatchObject({ kind: 'checked', required: 5 });
  expect(report.kind === 'checked' && report.rules.map(({ name }) => name)).toContain('GTUBE');
});
