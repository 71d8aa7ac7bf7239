/**
 * The author of a message: `From` as other programs read it. Every header of a list of awkward ones is submitted by SMTP with
 * a login for one domain, and every name of another by HTTP. Each is refused, or parsers of Python, Go, postal-mime,
 * Nodemailer's and plain searches for an address find the author that was checked, or nobody.
 */
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import addressparser from 'nodemailer/lib/addressparser/index.js';
import PostalMime, { decodeWords } from 'postal-mime';
import { beforeAll, describe, expect, it } from 'vitest';
import { openLineClient } from '../fakes/smtp-line-client.ts';
import { fileScope, type Instance, startInstance, temporaryFolder } from '../scenarios/harness.ts';

const scope = fileScope();
let server: Instance;
let token: string;

const OWN = 'shop@example.com';
const EVIL = 'ceo@example.org';

/** Everyday forms: taken, and read as ours by everybody. */
const PLAIN = [
  `From: ${OWN}`,
  `From: <${OWN}>`,
  `From: Shop <${OWN}>`,
  `From: "Shop" <${OWN}>`,
  `From: "Shop, Inc." <${OWN}>`,
  `From: J. R. Shop <${OWN}>`,
  `From: ${OWN} (Cron Daemon)`,
  `From: Joe Shop (Sales) <${OWN}>`,
  `From: =?utf-8?q?J=C3=B6rg_Shop?= <${OWN}>`,
  `From: =?UTF-8?B?SsO2cmc=?= =?UTF-8?B?IFNob3A=?= <${OWN}>`,
  `From: =?iso-8859-1?q?J=F6rg?=\r\n <${OWN}>`,
  `From: "${OWN}" <${OWN}>`,
  `From: "Say \\"hi\\"" <${OWN}>`,
  `From:\r\n ${OWN}`,
  `From: "Shop @ Acme" <${OWN}>`,
  `From: Jörg <${OWN}>`,
];

const b64 = (text: string, encoding: BufferEncoding = 'utf8') =>
  Buffer.from(text, encoding).toString('base64');

/** What somebody would write who wants to be read as another. */
const NASTY = [
  `From: ${EVIL}; <${OWN}>`,
  `From: ${EVIL}:; ${OWN}`,
  `From: ${EVIL}: ${OWN};`,
  `From: ${EVIL} <${OWN}>`,
  `From: ${OWN} <${EVIL}>`,
  `From: ${EVIL}, ${OWN}`,
  `From: ${OWN}, ${EVIL}`,
  `From: <${EVIL}>, <${OWN}>`,
  `From: <${EVIL}> <${OWN}>`,
  `From: <${OWN}> <${EVIL}>`,
  `From: <${EVIL}><${OWN}>`,
  `From: <${EVIL}>,;:<${OWN}>`,
  `From: "${EVIL}" <${OWN}>`,
  `From: "<${EVIL}>" <${OWN}>`,
  `From: "${EVIL}, " <${OWN}>`,
  `From: "x\\" <${EVIL}>, \\"" <${OWN}>`,
  `From: "x" ${EVIL} <${OWN}>`,
  `From: "${EVIL} x"@example.com`,
  `From: "${EVIL}"@example.com`,
  `From: "ceo@example.org>"@example.com`,
  `From: "a"b@example.org <${OWN}>`,
  `From: (${EVIL}) ${OWN}`,
  `From: ${OWN} (${EVIL})`,
  `From: (\\) ${EVIL} () <${OWN}>`,
  `From: (a (b) ${EVIL}) ${OWN}`,
  `From: (a ( ${EVIL}) ${OWN}`,
  `From: ceo(x)@example.org <${OWN}>`,
  `From: ceo @ example.org <${OWN}>`,
  `From: Group: ${EVIL}, ${OWN};`,
  `From: Group:; <${OWN}>`,
  `From: Group: <${OWN}>; ${EVIL}`,
  `From: undisclosed:${EVIL};, ${OWN}`,
  `From: <@example.org:${OWN}>`,
  `From: <@example.org,@b.example:${OWN}>`,
  `From: <${EVIL}:${OWN}>`,
  `From: <${EVIL}@example.com>`,
  `From: <ceo@example.org\\@example.com>`,
  `From: ceo%example.org@example.com`,
  `From: ceo＠example.org@example.com`,
  `From: ceo﹫example.org <${OWN}>`,
  `From: =?utf-8?q?ceo=40example=2Eorg?= <${OWN}>`,
  `From: =?utf-8?q?ceo=40example=2Eorg=2C?= <${OWN}>`,
  `From: =?utf-8?q?=3Cceo=40example=2Eorg=3E?= <${OWN}>`,
  `From: =?utf-8?q?=22x=22_=3Cceo=40example=2Eorg=3E=2C?= <${OWN}>`,
  `From: =?utf-8?b?${b64(EVIL)}?= <${OWN}>`,
  `From: "=?utf-8?b?${b64(EVIL)}?=" <${OWN}>`,
  `From: =?utf-8?q?ceo=40?= =?utf-8?q?example=2Eorg?= <${OWN}>`,
  `From: =?utf-8?q?ceo_=40_example_=2E_org?= <${OWN}>`,
  `From: =?utf-7?q?ceo+AEA-example.org?= <${OWN}>`,
  `From: =?utf-16le?b?${b64(EVIL, 'utf16le')}?= <${OWN}>`,
  `From: =?punycode?q?ceo=40example.org-?= <${OWN}>`,
  `From: =?utf-8?b?${b64(`${EVIL}\0`)}?= <${OWN}>`,
  `From: =?utf-8?b?${b64('x')}${b64(EVIL)}?= <${OWN}>`,
  `From: =?utf-8?q?=3D=3Futf-8=3Fq=3Fceo=3D40example=2Eorg=3F=3D?= <${OWN}>`,
  `From: <=?utf-8?q?ceo=40example=2Eorg=3E?=@example.com>`,
  `From: =?utf-8?q?ceo=40example=2Eorg=2C?=@example.com`,
  `From: =?utf-8?q?x=0D=0AFrom=3A_ceo=40example=2Eorg?= <${OWN}>`,
  `From: =?utf-8?q?ceo@example.org?= <${OWN}>`,
  `From: =?x@example.org?q?x?= <${OWN}>`,
  `From: =?utf-8?q?x <${EVIL}>?= <${OWN}>`,
  `From: ${EVIL}\r\nFrom: ${OWN}`,
  `From: ${OWN}\r\nFrom: ${EVIL}`,
  `From : ${OWN}`,
  `From : ${EVIL}\r\nFrom: ${OWN}`,
  `From: ${OWN}\r\nfrom:`,
  `From:\r\n \r\n ${OWN}`,
  `From: x\r\n ${EVIL},\r\n ${OWN}`,
  `From: ${OWN}\r\n ${EVIL}`,
  `From: ${OWN}\u0085${EVIL}`,
  `From: ${EVIL}\u00a0<${OWN}>`,
  `From: "x\t${EVIL}" <${OWN}>`,
  `From: \u001b$B${EVIL} \u001b(B <${OWN}>`,
  `From: [${EVIL}] <${OWN}>`,
  `From: ${EVIL}\\ <${OWN}>`,
  `From: <${OWN}>(${EVIL})`,
  `From: 'ceo@example.org' <${OWN}>`,
  `From: ceo@example.org'\\" <${OWN}>`,
  `From: <${OWN}`,
  `From: ${OWN}>`,
  `From: ${EVIL}>, <${OWN}>`,
  `From: <<${EVIL}>${OWN}>`,
  `From: <<${OWN}>${EVIL}>`,
  `From: mailto:${EVIL} <${OWN}>`,
  `From: x@[127.0.0.1] <${OWN}>`,
  `From: ${OWN}\u00ad`,
];

interface Readings {
  /** Who the author is, for programs that parse: each its whole answer. */
  exact: string[];
  /** For those that decode before they parse, or just look for something with an `@`. */
  loose: string[];
}

const PYTHON = `import sys, json, email
from email import policy
from email.header import decode_header, make_header
from email.utils import parseaddr, getaddresses
out = []
def attempt(read):
    try:
        return [each for each in read() if each and '@' in each]
    except Exception:
        return []
for text in json.load(sys.stdin):
    raw = text.encode('utf-8')
    old = email.message_from_bytes(raw)
    new = email.message_from_bytes(raw, policy=policy.default)
    values = [str(value) for value in old.get_all('From', [])]
    exact = attempt(lambda: [parseaddr(value)[1] for value in values])
    exact += attempt(lambda: [address for _, address in getaddresses(values)])
    exact += attempt(lambda: [each.addr_spec for value in new.get_all('From', []) for each in value.addresses])
    loose = attempt(lambda: [parseaddr(str(make_header(decode_header(value))))[1] for value in values])
    out.append({'exact': exact, 'loose': loose})
json.dump(out, sys.stdout)
`;

/** What a program reads in messages it is given as JSON; null where there is no such program. */
function elsewhere(name: string, args: string[], messages: readonly string[]): Promise<Readings[] | null> {
  return new Promise((resolve, reject) => {
    // What Go builds wants a place that may hold programs.
    const options = { maxBuffer: 1 << 24, env: { ...process.env, TMPDIR: '/tmp' } };
    const child = execFile(name, args, options, (error, stdout) => {
      if (error === null) resolve(JSON.parse(stdout));
      else if (error.code === 'ENOENT') resolve(null);
      else reject(error);
    });
    child.stdin?.on('error', () => undefined);
    child.stdin?.end(JSON.stringify(messages));
  });
}

/** `message`: with its end of header. */
async function javascript(message: string): Promise<Readings> {
  const parsed = await PostalMime.parse(message);
  const head = message.slice(0, message.indexOf('\r\n\r\n')).replaceAll(/\r\n(?=[ \t])/g, '');
  const values = [...head.matchAll(/^from[ \t]*:(.*)$/gim)].map(([, value = '']) => value);
  const flat = (value: string) => addressparser(value, { flatten: true }).map(({ address }) => address);
  const texts = values.flatMap((value) => [value, decodeWords(value)]);
  return {
    exact: [
      ...[parsed.from].flatMap((from) => [
        from?.address,
        ...(from?.group ?? []).map(({ address }) => address),
      ]),
      ...values.flatMap(flat),
    ].filter((address): address is string => address?.includes('@') === true),
    loose: [
      ...texts.flatMap(flat),
      ...texts.flatMap((text) => [...text.matchAll(/<([^<>]*)>/g)].map(([, inner = '']) => inner)),
      ...texts.flatMap((text) =>
        [...text.matchAll(/[^\s<>"'(),:;[\]]+@[^\s<>"'(),:;[\]]+\.[^\s<>"'(),:;[\]]+/g)].map(
          ([found]) => found,
        ),
      ),
    ].filter((address) => address.includes('@')),
  };
}

const GO = `package main

import (
	"encoding/json"
	"net/mail"
	"os"
	"strings"
)

func main() {
	var messages []string
	if err := json.NewDecoder(os.Stdin).Decode(&messages); err != nil {
		panic(err)
	}
	out := make([]map[string][]string, len(messages))
	for i, text := range messages {
		found := []string{}
		if message, err := mail.ReadMessage(strings.NewReader(text)); err == nil {
			for _, value := range message.Header["From"] {
				list, _ := mail.ParseAddressList(value)
				for _, each := range list {
					found = append(found, each.Address)
				}
			}
		}
		out[i] = map[string][]string{"exact": found, "loose": []string{}}
	}
	json.NewEncoder(os.Stdout).Encode(out)
}
`;

/** Readers in other languages, where they are installed. */
const OTHERS = [
  { name: 'python3', args: () => ['-c', PYTHON] },
  { name: 'go', args: () => ['run', goFile] },
];
let goFile: string;

async function readings(messages: readonly string[]): Promise<Readings[]> {
  const others = await Promise.all(
    OTHERS.map(async ({ name, args }) => {
      const found = await elsewhere(name, args(), messages);
      if (found === null) process.stderr.write(`skipped in part: ${name} is not installed here\n`);
      return found ?? [];
    }),
  );
  return Promise.all(
    messages.map(async (message, i) => {
      const own = await javascript(message);
      const all = [own, ...others.flatMap((found) => found[i] ?? [])];
      return { exact: all.flatMap(({ exact }) => exact), loose: all.flatMap(({ loose }) => loose) };
    }),
  );
}

/** Addresses that are not `own`, by programs that parse; addresses of other domains, by programs that guess. */
function strangers({ exact, loose }: Readings, own: string): string[] {
  const domain = own.slice(own.indexOf('@'));
  return [
    ...exact.filter((address) => address.toLowerCase() !== own),
    ...loose.filter((address) => !address.trim().toLowerCase().endsWith(domain)),
  ];
}

beforeAll(async () => {
  goFile = join(await temporaryFolder(scope), 'main.go');
  await writeFile(goFile, GO);
  server = await startInstance(scope, { settings: { submission: '127.0.0.1:0' } });
  for (const Domain of ['example.com', 'example.org']) {
    await server.call('POST', '/domains', { body: { Domain, Verified: true } });
  }
  const body = { Name: 'shop', Domains: ['example.com'], Preset: 'Send' };
  token = (await server.call('POST', '/tokens', { body })).json.Token;
});

async function submit(headers: readonly string[]) {
  const replies: string[] = [];
  // A connection with too many refusals is closed.
  for (let from = 0; from < headers.length; from += 10) {
    const client = await openLineClient(server.server.submission.plain?.port ?? 0);
    await client.reply();
    await client.hello();
    await client.login('token', token);
    for (const header of headers.slice(from, from + 10)) {
      const data = Buffer.from(whole(header));
      replies.push(await client.transact({ from: OWN, to: ['b@example.net'], data }));
    }
    client.close();
  }
  return replies;
}

const whole = (header: string) => `${header}\r\nTo: b@example.net\r\nSubject: x\r\n\r\nx\r\n`;

describe('a From by SMTP', () => {
  it('of an everyday form is taken, and everybody reads our author', async () => {
    const replies = await submit(PLAIN);
    expect(replies.map((reply, i) => [PLAIN[i], reply.slice(0, 3)])).toEqual(PLAIN.map((h) => [h, '250']));
    const read = await readings(PLAIN.map(whole));
    for (const [i, reading] of read.entries()) {
      expect([PLAIN[i], strangers(reading, OWN)]).toEqual([PLAIN[i], []]);
      expect(reading.exact).toContain(OWN);
    }
  });

  it('that some reader takes for another is refused', async () => {
    expect(NASTY.length).toBeGreaterThanOrEqual(60);
    const replies = await submit(NASTY);
    for (const reply of replies) expect(reply).toMatch(/^(?:250 2\.6\.0|55[04][ -]5\.[67]\.[01]) /);
    const taken = NASTY.filter((_, i) => replies[i]?.startsWith('250'));
    const read = await readings(taken.map(whole));
    for (const [i, reading] of read.entries()) {
      const header = taken[i] ?? '';
      const own = header.includes('ceo%') ? 'ceo%example.org@example.com' : OWN;
      expect([header, strangers(reading, own)]).toEqual([header, []]);
    }
    // The readers do tell them apart: without the check the list would show it.
    const all = await readings(NASTY.map(whole));
    expect(all.filter((reading) => strangers(reading, OWN).length > 0).length).toBeGreaterThan(50);
  });
});

describe('a From by HTTP', () => {
  const send = (name: string, more: Record<string, unknown> = {}) =>
    server.call('POST', '/email', {
      token,
      body: {
        From: { name, email: OWN },
        To: [{ email: 'b@example.net' }],
        Subject: 'x',
        ContentType: 'Text',
        PlainContent: 'x',
        ...more,
      },
    });

  it.each([
    'ceo @ example . org',
    'Foo @ J.P. Morgan',
    'Shop',
    'Shop, Inc. (Sales); "x": [y] <z>',
    'Jörg, (Verkauf); <x> "y" \\',
    'Shop @ Acme',
    OWN,
    '=?utf-8?q?ceo?=',
    'x\\',
    'ends with "',
  ])('named %j is read as ours', async (name) => {
    const answer = await send(name);
    expect(answer.status).toBe(200);
    await server.settled(answer.json.MessageID);
    const raw = (await server.call('GET', `/email/${answer.json.MessageID}/raw`)).text;
    const [reading] = await readings([raw]);
    expect(reading?.exact).toContain(OWN);
    expect(strangers(reading as Readings, OWN)).toEqual([]);
  });

  it.each([
    EVIL,
    `${EVIL} via Shop`,
    `<${EVIL}>`,
    `Jörg <${EVIL}>,`,
    'ceo＠example.org',
    '=?utf-8?q?ceo=40example=2Eorg?=',
  ])('named %j is refused', async (name) => {
    const answer = await send(name);
    expect(answer.status).toBe(403);
    expect(answer.json.message ?? answer.text).toContain('example.org');
    const batch = await server.call('POST', '/email/validate', {
      token,
      body: {
        From: { name, email: OWN },
        To: [{ email: 'b@example.net' }],
        Subject: 'x',
        ContentType: 'Text',
        PlainContent: 'x',
      },
    });
    expect(batch.status === 403 || JSON.stringify(batch.json).includes('example.org')).toBe(true);
  });

  it('has no address that decodes to another', async () => {
    const answer = await send('Shop', { From: { email: '=?utf-8?q?ceo=40example.org=3E?=@example.com' } });
    expect(answer.status).toBe(422);
  });
});

describe('other fields of submitted mail', () => {
  it.each([
    ['Sender', `Sender: ${EVIL}`],
    ['Sender of a name', `Sender: "${EVIL}" <${OWN}>`],
    ['two Senders', `Sender: ${OWN}\r\nSender: ${OWN}`],
    ['Resent-From', `Resent-From: ${OWN}\r\nResent-From: ${EVIL}`],
    ['Resent-Sender', `Resent-Sender: ${OWN}, ${EVIL}`],
    ['Sender that is no address', 'Sender: nobody'],
  ])('claim no other sender: %s', async (_, field) => {
    const [reply] = await submit([`${field}\r\nFrom: ${OWN}`]);
    expect(reply).toMatch(/^550 5\.[67]\.[01] /);
  });

  it('may name a sender of ours, keep trace and signatures, and lose what only a receiver says', async () => {
    const kept = [
      'Received: from a by b; Sat, 21 Nov 2026 11:44:00 +0000',
      `Sender: bot@example.com`,
      `Resent-From: Shop <${OWN}>`,
      'DKIM-Signature: v=1; a=rsa-sha256; d=example.org; s=x; h=from; bh=; b=',
      'ARC-Seal: i=1; cv=none',
    ];
    const removed = [
      'Return-Path: <ceo@example.org>',
      'Authentication-Results: mx.example.net; dkim=pass header.d=example.org',
      'Received-SPF: pass',
      'Delivered-To: b@example.net',
    ];
    const [reply = ''] = await submit([[...removed, ...kept, `From: ${OWN}`].join('\r\n')]);
    expect(reply).toMatch(/^250 /);
    await server.settled(reply.slice(-36));
    const raw = (await server.call('GET', `/email/${reply.slice(-36)}/raw`)).text;
    for (const field of kept) expect(raw).toContain(`${field}\r\n`);
    for (const field of removed) expect(raw).not.toContain(field);
  });
});
