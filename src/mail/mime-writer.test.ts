import { describe, expect, it } from 'vitest';
import { type MimePart, writeMessage } from './mime-writer.ts';

const text = (root: MimePart, seed = 'id-1'): string =>
  Buffer.from(writeMessage('A: b\r\n', root, seed).bytes).toString('latin1');

describe('writeMessage', () => {
  it('ends a single body with one line end, whatever it ended with', () => {
    for (const [body, end] of [
      ['', ''],
      ['a', 'a\r\n'],
      ['a\n', 'a\r\n'],
      ['a\n\n', 'a\r\n\r\n'],
    ] as const) {
      const written = text({ kind: 'text', subtype: 'plain', text: body });
      expect(written.slice(written.indexOf('\r\n\r\n') + 4)).toBe(end);
    }
  });

  it('keeps the ends of texts before a boundary, and gives empty parts an empty body', () => {
    const written = text({
      kind: 'multi',
      subtype: 'mixed',
      label: 'm',
      parts: [
        { kind: 'text', subtype: 'plain', text: 'a' },
        { kind: 'text', subtype: 'plain', text: 'b\n' },
        { kind: 'file', headers: 'Content-Type: a/b\r\n', content: new Uint8Array(0) },
      ],
    });
    expect(written).toContain('\r\n\r\na\r\n--=_m_id-1\r\n');
    expect(written).toContain('\r\n\r\nb\r\n\r\n--=_m_id-1\r\n');
    expect(written).toContain('base64\r\n\r\n\r\n--=_m_id-1--\r\n');
  });

  it('lets no text or file hold a boundary', () => {
    const line = '--=_m_id-1';
    const evil = `${line}\n${line}--\r\n`.repeat(50);
    const written = text({
      kind: 'multi',
      subtype: 'mixed',
      label: 'm',
      parts: [
        { kind: 'text', subtype: 'html', text: evil },
        { kind: 'text', subtype: 'plain', text: `${'é'.repeat(5000)}\n${evil}` },
        { kind: 'file', headers: 'Content-Type: a/b\r\n', content: Buffer.from(evil) },
      ],
    });
    expect(written.split(line)).toHaveLength(5);
  });

  it('names the root of related parts', () => {
    const parts: MimePart[] = [{ kind: 'text', subtype: 'html', text: '' }];
    expect(text({ kind: 'multi', subtype: 'related', label: 'r', parts })).toContain(
      'Content-Type: multipart/related; type="text/html";\r\n boundary="=_r_id-1"',
    );
    expect(text({ kind: 'multi', subtype: 'mixed', label: 'm', parts })).toContain('multipart/mixed;\r\n b');
  });

  it('takes the shorter encoding, and quoted-printable where links are to be written in', () => {
    const wanted = 'Ж'.repeat(50);
    expect(text({ kind: 'text', subtype: 'plain', text: wanted })).toContain('Encoding: base64');
    expect(text({ kind: 'text', subtype: 'plain', text: `${'a'.repeat(50)}é` })).toContain(
      'Encoding: quoted',
    );
    const places = [{ start: 0, length: 1 }];
    expect(text({ kind: 'text', subtype: 'plain', text: `L${wanted}`, places })).toContain(
      'Encoding: quoted',
    );
  });

  it('makes boundaries of safe characters only', () => {
    const part: MimePart = { kind: 'multi', subtype: 'mixed', label: 'm', parts: [] };
    expect(text(part, `"\r\n;é${'x'.repeat(100)}`)).toContain(
      `boundary="=_m_${'x'.repeat(48)}"\r\n\r\n--=_m_x`,
    );
  });

  it('keeps no slack alive behind a message', () => {
    const { bytes } = writeMessage('', { kind: 'text', subtype: 'plain', text: 'a'.repeat(100_000) }, 'x');
    expect(bytes.buffer.byteLength).toBeLessThan(bytes.length * 1.2);
  });

  it('cuts no text where its scratch memory ends', () => {
    const scratch = 192 * 1024;
    for (let before = scratch - 5; before <= scratch + 1; before++) {
      for (const last of ['a', 'é', '€', '😀']) {
        const body = `${'a'.repeat(before)}${last}`;
        const written = text({ kind: 'text', subtype: 'plain', text: body });
        const encoded = written.slice(written.indexOf('\r\n\r\n') + 4, -2).replaceAll('=\r\n', '');
        const octets = encoded.replace(/=([0-9A-F]{2})/g, (_, hex) =>
          String.fromCharCode(Number.parseInt(hex, 16)),
        );
        // Compared by length first: a difference of such texts would be printed whole.
        const decoded = Buffer.from(octets, 'latin1').toString('utf8');
        expect(decoded.length).toBe(body.length);
        expect(decoded === body).toBe(true);
      }
    }
  });
});
