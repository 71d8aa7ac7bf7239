import { describe, expect, it } from 'vitest';
import { Conversation } from './conversation.ts';
import type { Reply } from './reply.ts';

const reply = (code: number, ...lines: string[]): Reply => ({
  code,
  enhanced: null,
  lines,
  text: lines.join(' '),
});

describe('a conversation', () => {
  it('shows who said what, and when', () => {
    const log = new Conversation(1000);
    log.add(1000.2, 'MAIL FROM:<a@b>\r\nDATA\r\n');
    log.add(1012.6, reply(250, 'one', ''));
    log.add(1020, 512);
    expect(log.text()).toBe(
      '0 C: MAIL FROM:<a@b>\n0 C: DATA\n13 S: 250-one\n13 S: 250\n20 C: (512 octets of message)',
    );
  });

  it('stays within about 8 KiB, and keeps how it began and how it ended', () => {
    const log = new Conversation(0);
    for (let i = 0; i < 5_000; i += 1) log.add(i, reply(250, `line ${i} ${'x'.repeat(100)}`));
    log.add(5_000, reply(550, 'the end'));
    const text = log.text();
    expect(text.length).toBeLessThanOrEqual(8 * 1024);
    expect(text).toContain('0 S: 250 line 0 ');
    expect(text).toContain(' more)');
    expect(text.endsWith('5000 S: 550 the end')).toBe(true);
    const huge = new Conversation(0);
    for (let i = 0; i < 100; i += 1) huge.add(0, 'x'.repeat(100_000));
    expect(huge.text().length).toBeLessThanOrEqual(8 * 1024);
  });
});
