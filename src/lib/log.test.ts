import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createLoggers, maskAddresses } from './log.ts';

function collect(mask = false) {
  const lines: string[] = [];
  const loggers = createLoggers({
    destination: { write: (line: string) => void lines.push(line) },
    level: 'debug',
    maskAddresses: mask,
  });
  return { ...loggers, lines };
}

describe('the two logs', () => {
  it('writes one JSON line with level, time and stream, ids first and the sentence last', () => {
    const { service, lines } = collect();
    service.warn({ code: 451, messageId: 'm1', deliveryId: 7 }, 'deferred');
    expect(lines).toHaveLength(1);
    const line = JSON.parse(lines[0] ?? '');
    expect(line).toMatchObject({ level: 'warn', stream: 'service', messageId: 'm1', code: 451 });
    expect(line.time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(Object.keys(line)).toEqual(['level', 'time', 'stream', 'messageId', 'deliveryId', 'code', 'msg']);
  });

  it('writes the lines of the mail log alike, those of one turn at once', async () => {
    const { mail, lines } = collect();
    mail.info({ messageId: 'm1', to: 'a"b@example.com', size: 3, none: undefined }, 'accepted');
    mail.debug({}, 'called');
    await setImmediate();
    expect(lines).toHaveLength(1);
    const [first, second] = (lines[0] ?? '').trimEnd().split('\n');
    expect(JSON.parse(first ?? '')).toMatchObject({ level: 'info', to: 'a"b@example.com', size: 3 });
    expect(Object.keys(JSON.parse(first ?? ''))).toEqual([
      ...['level', 'time', 'stream', 'messageId', 'to', 'size', 'msg'],
    ]);
    expect(JSON.parse(second ?? '')).toMatchObject({ level: 'debug', stream: 'mail', msg: 'called' });
    expect(JSON.parse(second ?? '').time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  });

  it('drops what is below the level', async () => {
    const lines: string[] = [];
    const write = (line: string) => void lines.push(line);
    const { mail } = createLoggers({ destination: { write }, level: 'warn', maskAddresses: false });
    mail.info({}, 'accepted');
    mail.error({}, 'broken');
    await setImmediate();
    expect(lines.join('').split('\n')).toHaveLength(2);
  });

  it('never prints a secret, at the top or nested', async () => {
    const { service, mail, lines } = collect(true);
    for (const log of [service, mail]) {
      log.info({ token: 'S3CRET', headers: { authorization: 'Bearer S3CRET' } }, 'x');
      log.info({ a: { b: { secret: 'S3CRET', password: 'S3CRET' } } }, 'x');
    }
    await setImmediate();
    expect(lines).toHaveLength(3);
    expect(lines.join('')).not.toContain('S3CRET');
    expect(lines.join('')).toContain('[redacted]');
  });

  it('masks local parts in the mail log where the operator wants it', async () => {
    const masked = collect(true);
    masked.mail.info({ to: ['jane@example.com'], reply: '550 <bob@example.net> unknown' }, 'bounced');
    await setImmediate();
    expect(JSON.parse(masked.lines[0] ?? '')).toMatchObject({
      to: ['j***@example.com'],
      reply: '550 <b***@example.net> unknown',
    });
    const plain = collect(false);
    plain.mail.info({ to: 'jane@example.com' }, 'bounced');
    await setImmediate();
    expect(JSON.parse(plain.lines[0] ?? '').to).toBe('jane@example.com');
  });

  it('masks addresses in the service log always, and keeps the stack of errors there', () => {
    const { service, lines } = collect(false);
    service.info({ reason: '554 bob@example.net: no', err: new Error('broken') }, 'site blocked');
    const line = JSON.parse(lines[0] ?? '');
    expect(line.reason).toBe('554 b***@example.net: no');
    expect(line.err.stack).toContain('log.test.ts');
  });

  it('masks every text without leaving a local part, in linear time', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[a-z]{2,20}$/), fc.stringMatching(/^[a-z]{1,9}$/), (local, host) => {
        expect(maskAddresses(`x ${local}@${host}.test, y`)).toBe(`x ${local[0]}***@${host}.test, y`);
      }),
    );
    expect(maskAddresses('postgres://postrider@:5433/mail')).toBe('postgres://p***@:5433/mail');
    expect(maskAddresses('/@'.repeat(50_000))).toBe('/@'.repeat(50_000));
    expect(maskAddresses('@'.repeat(50_000))).toBe('@'.repeat(50_000));
    expect(maskAddresses('a'.repeat(200_000))).toHaveLength(200_000);
  });
});
