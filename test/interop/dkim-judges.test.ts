/**
 * Holds our DKIM signatures against two other implementations: dkimpy (Debian: python3-dkim) and opendkim (Debian:
 * opendkim). Both get the public keys from this test, not from DNS. Where one is not installed its tests are skipped
 * under a name that says so. Each program runs once over all messages.
 */
import { execFile, execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import { signMessage } from '../../src/mail/dkim.ts';
import { DKIM_RECORDS, HEADERS, messageOf, rsaSigner, serviceSigner } from '../fakes/dkim-pair.ts';

const PYTHON = '/usr/bin/python3';
const OPENDKIM = '/usr/sbin/opendkim';

const DKIMPY_SCRIPT = `
import base64, json, sys, dkim
given = json.load(sys.stdin)
def txt(name, timeout=5):
    return given["keys"][name.decode().rstrip(".")].encode()
verdicts = []
for text in given["messages"]:
    judge = dkim.DKIM(base64.b64decode(text))
    row = []
    for i in range(given["signatures"]):
        try:
            row.append("pass" if judge.verify(idx=i, dnsfunc=txt) else "fail")
        except Exception as error:
            row.append(repr(error))
    verdicts.append(row)
json.dump(verdicts, sys.stdout)
`;

const hasDkimpy = canRun(PYTHON, ['-c', 'import dkim']);
const hasOpendkim = existsSync(OPENDKIM) && canRun(OPENDKIM, ['-V']);

const AWKWARD_HEADERS = [
  'Received: from a by b; x',
  'FROM:\tAnn\r\n\t<ann@example.com> ',
  'To: one@example.org,\r\n  two@example.org,\r\n\t three@example.org',
  'To: four@example.org',
  'Date: Sat, 21 Nov 2026 12:00:00 +0000',
  'subject:',
  'cc:   \r\n \t x@example.org\t',
  'List-Unsubscribe:\r\n <https://example.com/u/1>,\r\n <mailto:u@example.com>',
  'List-Unsubscribe-Post: List-Unsubscribe=One-Click',
  'References: <1@a>\r\n\t<2@a>',
  'References: <3@a>',
  `X-Long: ${'word '.repeat(190)}`,
];
const SAMPLED = fc.sample(
  fc
    .array(fc.constantFrom(' ', '\t', '\r\n', '.', 'a', 'word', '=20', '\xe4', '\r\n\r\n', '  ', ' \r\n'), {
      maxLength: 60,
    })
    .map((pieces) => pieces.join('')),
  { numRuns: 60, seed: 6376 },
);
const CASES: [name: string, headers: readonly string[], body: string][] = [
  ['an ordinary message', HEADERS, 'Hello\r\n'],
  ['an empty body', HEADERS, ''],
  ['a body of line ends only', HEADERS, '\r\n\r\n\r\n'],
  ['a body of blanks only', HEADERS, ' \t\r\n\t\r\n  '],
  ['a body without a last line end', HEADERS, 'no end'],
  ['trailing blanks', HEADERS, 'one  \r\ntwo\t\r\nthree \t \r\n'],
  ['trailing empty lines', HEADERS, 'one\r\n\r\n \r\n\t\r\n'],
  ['runs of blanks and tabs', HEADERS, '\r\n  a  b\t\tc \t d\te\r\n   f\r\n'],
  ['lone dots', HEADERS, '.\r\n..\r\n.a\r\n\r\n.\r\n'],
  ['eight-bit octets', HEADERS, '\x80\xa0\xff  \xe9\r\n'],
  ['very long lines', HEADERS, `${'x'.repeat(100_000)}\r\n${'y z '.repeat(30_000)}\r\n`],
  ['a megabyte of indented text', HEADERS, `${' '.repeat(8)}<td>a  b</td>  \r\n`.repeat(37_000)],
  ['folded, repeated and empty headers', AWKWARD_HEADERS, 'x\r\n'],
  ...SAMPLED.map((body, i): [string, readonly string[], string] => [`sampled body ${i}`, HEADERS, body]),
];

let messages: Buffer[] = [];

beforeAll(async () => {
  messages = await Promise.all(
    CASES.map(async ([, headers, body]) => {
      const { message, bodyOffset } = messageOf(headers, body);
      // The judges compare t= and x= with the real time.
      const lines = await signMessage(message, bodyOffset, [rsaSigner, serviceSigner], {
        nowMs: systemClock.now() - 1000,
      });
      // As it arrives: SMTP's end of data closes a last line that was left open. (dkimpy and opendkim's test mode
      // judge an open last line otherwise than RFC 6376 §3.4.4 says; by SMTP they never see one.)
      return Buffer.concat([lines, message, Buffer.from(body === '' || body.endsWith('\r\n') ? '' : '\r\n')]);
    }),
  );
});

describe(hasDkimpy ? 'dkimpy' : 'dkimpy (skipped: python3-dkim is not installed)', () => {
  let verdicts: string[][] = [];

  beforeAll(async () => {
    if (!hasDkimpy) return;
    const altered = Buffer.from(
      (messages[0] ?? Buffer.alloc(0)).toString('latin1').replace('Hello\r\n', 'Hallo\r\n'),
      'latin1',
    );
    const given = {
      keys: DKIM_RECORDS,
      signatures: 2,
      messages: [...messages, altered].map((m) => m.toString('base64')),
    };
    verdicts = JSON.parse(await run(PYTHON, ['-c', DKIMPY_SCRIPT], JSON.stringify(given)));
  });

  it.skipIf(!hasDkimpy).each(CASES.map(([name], i) => ({ name, i })))(
    'verifies both signatures over $name',
    ({ i }) => {
      expect(verdicts[i]).toEqual(['pass', 'pass']);
    },
  );

  it.skipIf(!hasDkimpy)('refuses an altered message', () => {
    expect(verdicts[CASES.length]).not.toContain('pass');
  });
});

describe(hasOpendkim ? 'opendkim' : 'opendkim (skipped: opendkim is not installed)', () => {
  let folder = '';
  /** By case, the domains of the signatures that passed. */
  let passed: string[][] = [];

  beforeAll(async () => {
    if (!hasOpendkim) return;
    folder = await mkdtemp(join(tmpdir(), 'postrider-opendkim-'));
    const keys = join(folder, 'keys');
    await writeFile(
      keys,
      Object.entries(DKIM_RECORDS)
        .map(([name, text]) => `${name} ${text}\n`)
        .join(''),
    );
    const conf = join(folder, 'conf');
    await writeFile(conf, `Mode v\nTestDNSData file:${keys}\n`);
    const altered = Buffer.from(
      (messages[0] ?? Buffer.alloc(0)).toString('latin1').replace('Hello\r\n', 'Hallo\r\n'),
      'latin1',
    );
    for (const message of [...messages, altered]) {
      const file = join(folder, `${passed.length}.eml`);
      await writeFile(file, message);
      const said = await run(OPENDKIM, ['-v', '-v', '-x', conf, '-t', file], '');
      passed = [
        ...passed,
        [...said.matchAll(/dkim=pass [^;]*header\.d=([a-z.]+)/g)].map((match) => match[1] ?? ''),
      ];
    }
  });

  afterAll(async () => {
    if (folder !== '') await rm(folder, { recursive: true });
  });

  it.skipIf(!hasOpendkim).each(CASES.map(([name], i) => ({ name, i })))(
    'verifies both signatures over $name',
    ({ i }) => {
      expect(passed[i]).toEqual(['example.com', 'svc.example.net']);
    },
  );

  it.skipIf(!hasOpendkim)('refuses an altered message', () => {
    expect(passed[CASES.length]).toEqual([]);
  });
});

function canRun(program: string, args: readonly string[]): boolean {
  try {
    execFileSync(program, args, { stdio: 'ignore', timeout: 20_000 });
    return true;
  } catch {
    return false;
  }
}

/** What the program writes to standard output; rejects where it cannot be run. A refusal may end it with any code. */
function run(program: string, args: readonly string[], input: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = execFile(
      program,
      args,
      { maxBuffer: 64 * 1024 * 1024, timeout: 50_000 },
      (error, stdout, stderr) => {
        if (error === null || (typeof error.code === 'number' && stdout !== '')) resolve(stdout);
        else reject(new Error(`${program} failed: ${stderr}`, { cause: error }));
      },
    );
    // One that ends before it has read all says so by its answer.
    child.stdin?.on('error', () => undefined);
    child.stdin?.end(input);
  });
}
