/** Reading DMARC aggregate reports: the forms in which receivers send them, and what somebody may send instead. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crc32, deflateRawSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { attached, dmarcDocument } from '../../test/scenarios/returns-kit.ts';
import { type DmarcReading, readDmarcReport } from './dmarc-report.ts';
import { readMime } from './mime-tree.ts';

const turn = () => undefined;
const read = (mail: string | Uint8Array) => readDmarcReport(readMime(Buffer.from(mail)), turn);
const readXml = (document: string) => read(attached('text/xml', Buffer.from(document)));

const AUTH = `<auth_results>
  <dkim><domain>Example.com</domain><selector>k1</selector><result>fail</result><human_result>bad</human_result></dkim>
  <dkim><domain>other.example</domain><result>pass</result></dkim>
  <spf><domain>bounces.example.net</domain><scope>mfrom</scope><result>softfail</result></spf>
</auth_results>`;

const DOCUMENT = dmarcDocument([
  { ip: '192.0.2.1', n: 12, more: AUTH },
  {
    ip: '::FFFF:198.51.100.7',
    n: 2,
    dkim: 'fail',
    spf: 'fail',
    disposition: 'reject',
    from: 'News.Example.com',
  },
  { ip: '2001:0DB8:0:0::1', spf: 'fail', disposition: 'pass' },
]);

const REPORT = {
  ...{ reporter: 'Receiver & Co', reportId: 'r-1', domain: 'example.com' },
  ...{ beginAt: Date.UTC(2025, 0, 1), endAt: Date.UTC(2025, 0, 1, 23, 59, 59) },
  records: [
    {
      ...{ sourceIp: '192.0.2.1', messages: 12, disposition: 'none', dkim: true, spf: true, reason: '' },
      headerFrom: 'example.com',
      signatures: [
        { domain: 'example.com', selector: 'k1', result: 'fail' },
        { domain: 'other.example', selector: '', result: 'pass' },
      ],
      spfResult: { domain: 'bounces.example.net', selector: '', result: 'softfail' },
    },
    {
      ...{
        sourceIp: '198.51.100.7',
        messages: 2,
        disposition: 'reject',
        dkim: false,
        spf: false,
        reason: '',
      },
      ...{ headerFrom: 'news.example.com', signatures: [], spfResult: null },
    },
    {
      ...{ sourceIp: '2001:db8::1', messages: 1, disposition: 'none', dkim: true, spf: false, reason: '' },
      ...{ headerFrom: 'example.com', signatures: [], spfResult: null },
    },
  ],
};

/** As a program that writes to a stream does: the sizes are behind the data. */
function zipOf(content: Buffer, { streamed = false } = {}): Buffer {
  const data = deflateRawSync(content);
  const name = Buffer.from('receiver!example.com!1!2.xml');
  const sizes = Buffer.alloc(12);
  sizes.writeUInt32LE(crc32(content), 0);
  sizes.writeUInt32LE(data.length, 4);
  sizes.writeUInt32LE(content.length, 8);
  const local = Buffer.alloc(30);
  local.writeUInt32LE(0x04034b50, 0);
  local.writeUInt16LE(streamed ? 8 : 0, 6);
  local.writeUInt16LE(8, 8);
  if (!streamed) sizes.copy(local, 14);
  local.writeUInt16LE(name.length, 26);
  const file = Buffer.concat([local, name, data, ...(streamed ? [sizes] : [])]);
  const central = Buffer.alloc(46);
  central.writeUInt32LE(0x02014b50, 0);
  central.writeUInt16LE(8, 10);
  sizes.copy(central, 16);
  central.writeUInt16LE(name.length, 28);
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(1, 8);
  end.writeUInt16LE(1, 10);
  end.writeUInt32LE(central.length + name.length, 12);
  end.writeUInt32LE(file.length, 16);
  return Buffer.concat([file, central, name, end]);
}

function whyNot(reading: DmarcReading): string {
  return reading.ok ? 'it was read' : reading.why;
}

describe('a DMARC report', () => {
  it.each([
    ['as text', attached('text/xml', Buffer.from(DOCUMENT))],
    ['by gzip', attached('application/gzip', gzipSync(DOCUMENT))],
    ['by zip', attached('application/zip', zipOf(Buffer.from(DOCUMENT)))],
    [
      'by zip, streamed',
      attached('application/octet-stream', zipOf(Buffer.from(DOCUMENT), { streamed: true })),
    ],
    [
      'as the whole mail',
      `From: a@b.example\r\nContent-Type: application/zip\r\nContent-Transfer-Encoding: base64\r\n\r\n${zipOf(Buffer.from(DOCUMENT)).toString('base64')}\r\n`,
    ],
  ])('is read %s', async (_, mail) => {
    expect(await read(mail)).toEqual({ ok: true, report: REPORT });
  });

  it.for([
    ['alone', 'reports/report.xml'],
    ['in a folder', 'reports'],
  ] as const)('is read as the system’s zip program packs it %s', async ([, packed], ctx) => {
    const folder = mkdtempSync(join(tmpdir(), 'postrider-zip-'));
    try {
      mkdirSync(join(folder, 'reports'));
      writeFileSync(join(folder, 'reports', 'report.xml'), DOCUMENT);
      try {
        execFileSync('python3', ['-m', 'zipfile', '-c', 'report.zip', packed], { cwd: folder });
      } catch {
        ctx.skip('there is no python3 here');
      }
      const bytes = readFileSync(join(folder, 'report.zip'));
      expect(await read(attached('application/zip', bytes))).toEqual({ ok: true, report: REPORT });
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('is read whatever the prefix of its elements, and with a namespace', async () => {
    const prefixed = dmarcDocument([{ ip: '192.0.2.1' }], { prefix: 'ns:' }).replace(
      '<ns:feedback>',
      '<ns:feedback xmlns:ns="urn:ietf:params:xml:ns:dmarc-2.0">',
    );
    expect(await readXml(prefixed)).toMatchObject({
      ok: true,
      report: { records: [{ sourceIp: '192.0.2.1' }] },
    });
  });

  it.each(['utf-16le', 'utf-16be', 'windows-1251', 'utf-16, which is UTF-8'])(
    'is read in %s',
    async (charset) => {
      const xml = dmarcDocument([{ ip: '192.0.2.1' }], { reporter: 'Почта' }).replace(
        'UTF-8',
        charset.replace(/,.*/, ''),
      );
      const octets = {
        'utf-16le': () => Buffer.from(`\ufeff${xml}`, 'utf16le'),
        'utf-16be': () => Buffer.from(`\ufeff${xml}`, 'utf16le').swap16(),
        // А is 0xc0, and so on.
        'windows-1251': () =>
          Buffer.from(
            xml.replace(/[А-я]/g, (letter) => String.fromCharCode(letter.charCodeAt(0) - 0x350)),
            'latin1',
          ),
      }[charset];
      expect(await read(attached('text/xml', octets?.() ?? Buffer.from(xml)))).toMatchObject({
        report: { reporter: 'Почта', records: [{ sourceIp: '192.0.2.1' }] },
      });
    },
  );

  it('is found behind attachments that are none', async () => {
    const attachments: [string, string | Uint8Array][] = [
      ['text/html', '<?xml version="1.0"?><!DOCTYPE html><html><body>Report<br></body></html>'],
      ['image/svg+xml', '<svg xmlns="http://www.w3.org/2000/svg"/>'],
      ['application/gzip', gzipSync(DOCUMENT)],
    ];
    const parts = attachments.map(
      ([type, bytes]) =>
        `--b\r\nContent-Type: ${type}\r\nContent-Transfer-Encoding: base64\r\n\r\n${Buffer.from(bytes).toString('base64')}\r\n`,
    );
    const mail = `Content-Type: multipart/mixed; boundary=b\r\n\r\n${parts.join('')}--b--\r\n`;
    expect(await read(mail)).toEqual({ ok: true, report: REPORT });
  });

  it('is read where elements have the names of the first draft, times have fractions, and the name is empty', async () => {
    const xml = DOCUMENT.replaceAll('identifiers>', 'identities>')
      .replace(/(<begin>\d+)/, '$1.0')
      .replace(/(<end>\d+)/, '$1.25')
      .replace(/<org_name>.*<\/org_name>/, '<org_name/>');
    expect(await readXml(xml)).toEqual({ ok: true, report: { ...REPORT, reporter: 'receiver.example' } });
  });

  it('keeps why a policy was not applied', async () => {
    const reason = '<reason><type>forwarded</type><comment>looks forwarded</comment></reason>';
    const document = dmarcDocument([{ ip: '192.0.2.1', dkim: 'fail' }]).replace(
      '</policy_evaluated>',
      `${reason}</policy_evaluated>`,
    );
    expect(await readXml(document)).toMatchObject({
      ok: true,
      report: { records: [{ reason: 'forwarded' }] },
    });
  });

  it('leaves out records without an address, a number or a name', async () => {
    const rows = [
      { ip: 'fe80::1%eth0' },
      { ip: '192.0.2.1', n: -1 },
      { ip: '192.0.2.2', from: 'a <b>.example' },
    ];
    const document = dmarcDocument([...rows, { ip: '192.0.2.3' }]).replace('a <b>.example', 'a b.example');
    expect(await readXml(document)).toMatchObject({
      ok: true,
      report: { records: [{ sourceIp: '192.0.2.3' }] },
    });
  });
});

const MALFORMED = 'its document is no well-formed XML, or has a document type';

describe('what is no DMARC report', () => {
  it.each([
    ['no attachment is a DMARC report', 'From: a@b.example\r\n\r\nHello\r\n'],
    ['its attachment is damaged', attached('application/gzip', gzipSync(DOCUMENT).subarray(0, 200))],
    [
      'its zip file is damaged or of an unknown kind',
      attached('application/zip', zipOf(Buffer.from(DOCUMENT)).subarray(0, 300)),
    ],
    [MALFORMED, attached('text/xml', Buffer.from(DOCUMENT.replace('</row>', '')))],
    [MALFORMED, attached('text/xml', Buffer.from(DOCUMENT.slice(0, -20)))],
    [
      'its document names no reporter, id, domain or time',
      attached('text/xml', Buffer.from('<feedback></feedback>')),
    ],
    [
      'its document is nested too deeply',
      attached('text/xml', Buffer.from(`<feedback>${'<a>'.repeat(50)}${'</a>'.repeat(50)}</feedback>`)),
    ],
    ['its document is no DMARC report', attached('text/xml', Buffer.from('<html></html>'))],
    [
      MALFORMED,
      attached(
        'text/xml',
        Buffer.from(`<feedback ${Array.from({ length: 99 }, (_, i) => `a${i}=""`).join(' ')}/>`),
      ),
    ],
  ])('says that %s', async (why, mail) => {
    expect(whyNot(await read(mail))).toBe(why);
  });

  it('is not unpacked beyond its limit', async () => {
    const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024, ' '));
    expect(whyNot(await read(attached('application/gzip', bomb)))).toBe('it has more than 8388608 octets');
    const zipped = zipOf(Buffer.alloc(64 * 1024 * 1024, ' '));
    expect(whyNot(await read(attached('application/zip', zipped)))).toBe('it has more than 8388608 octets');
  });

  it('is read no further than all documents of a mail may be together', async () => {
    const zipped = (text: string) => gzipSync(`<feedback>${text}</feedback>`);
    const many = zipped('<a/>'.repeat(350_000));
    expect(whyNot(await read(attached('application/gzip', many)))).toBe(
      'its document names no reporter, id, domain or time',
    );
    const large = zipped(' '.repeat(5 * 1024 * 1024));
    for (const [attachment, why] of [
      [many, 'it has too many elements'],
      [large, 'it has more than 8388608 octets'],
    ] as const) {
      const three = attached('application/gzip', attachment).replace(
        /--=_dmarc\r\nContent-Type: application[\s\S]*(?=--=_dmarc--)/,
        (part) => part.repeat(3),
      );
      expect(whyNot(await read(three))).toBe(why);
    }
  });

  it('has no entities of its own', async () => {
    const entity = '<!DOCTYPE feedback [<!ENTITY a "aaaaaaaaaa"><!ENTITY b SYSTEM "file:///etc/passwd">]>';
    for (const name of ['a', 'b']) {
      const document = dmarcDocument([{ ip: '192.0.2.1' }], { reporter: 'X' })
        .replace('?>', `?>${entity}`)
        .replace('>X<', `>&${name};<`);
      expect(whyNot(await readXml(document))).toBe(MALFORMED);
    }
  });

  it('has at most ten thousand records', async () => {
    const rows = Array.from({ length: 10_001 }, () => ({ ip: '192.0.2.1' }));
    expect(whyNot(await read(attached('application/gzip', gzipSync(dmarcDocument(rows)))))).toBe(
      'it has more than 10000 records',
    );
  });

  it('never throws', async () => {
    const zip = zipOf(Buffer.from(DOCUMENT));
    const places = fc.array(fc.tuple(fc.nat(zip.length - 1), fc.nat(255)), { minLength: 1, maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(places, async (changes) => {
        const bytes = Buffer.from(zip);
        for (const [at, value] of changes) bytes[at] = value;
        await read(attached('application/zip', bytes));
      }),
    );
    await fc.assert(
      fc.asyncProperty(fc.nat(DOCUMENT.length), fc.string({ maxLength: 20 }), async (at, text) => {
        await readXml(`${DOCUMENT.slice(0, at)}${text}${DOCUMENT.slice(at)}`);
      }),
    );
  });
});
