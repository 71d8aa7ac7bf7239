import { PassThrough } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import type { TimelineEntry } from '../client/api-types.ts';
import { messageText, type ShownMessage } from './message-text.ts';
import { type Screen, wrapped } from './terminal.ts';

const pipe = new PassThrough();
const narrow = Object.assign(new PassThrough(), { isTTY: true, columns: 60 });

const event: TimelineEntry = {
  EventID: '019ab0c1-7d3e-7000-8000-000000000001',
  Event: 'deferred',
  At: '2026-11-21T13:00:00.000Z',
  LogLevel: 'Warn',
  Recipient: 'you@example.net',
  Attempt: 1,
  Route: 'mx',
  Reason: '',
  RemoteMta: '',
  SourceAddress: '',
  Reply: '',
  Tls: '',
  DurationMs: null,
  NextAttemptAt: null,
  PossibleDuplicate: false,
  Bounce: null,
  Explanation: '',
  IPAddress: '',
  UserAgent: '',
  URL: '',
  Conversation: '',
};
const recipient: ShownMessage['Recipients'][number] = {
  Email: 'you@example.net',
  Type: 'To',
  Status: 'Deferred',
  Attempts: 1,
  LastSmtpCode: 0,
  LastResponse: '',
  Class: '',
  WaitReason: '',
  NextAttemptAt: null,
  ExpiresAt: '2026-11-24T13:00:00.000Z',
  Route: 'mx',
  PossibleDuplicate: false,
  CauseID: null,
  UpdatedAt: '2026-11-21T13:00:00.000Z',
};

function text(
  changes: Partial<typeof recipient>,
  events: readonly Partial<TimelineEntry>[] = [],
  stdout: Screen = pipe,
): string {
  const message: ShownMessage = {
    MessageID: '019ab0c1-7d3e-7000-8000-000000000000',
    RecipientStatuses: { Deferred: 1 },
    From: { Name: '', Email: 'shop@example.com' },
    Subject: 'Your order',
    Size: 100,
    CreatedAt: '2026-11-21T13:00:00.000Z',
    Recipients: [{ ...recipient, ...changes }],
  };
  const timeline = events.map((each) => ({ ...event, ...each }));
  return stripVTControlCharacters(messageText(stdout, message, timeline, NOW));
}

const NOW = Date.parse('2026-11-21T13:01:00.000Z');

describe('messageText', () => {
  it('says a reply once, though it is the reason too', () => {
    const reply = '550 5.1.1 no such user';
    const shown = text({ Status: 'Bounced' }, [{ Event: 'bounced', Reason: reply, Reply: reply }]);
    expect(shown.match(/550 5\.1\.1/g)).toHaveLength(1);
    expect(shown).toContain(`reply: ${reply}`);
  });

  it('shows a verdict of its own as a reason, not as a reply with the code 0', () => {
    const why = 'the domain nowhere.example does not exist';
    const shown = text({ LastResponse: `0 5.1.2 ${why}` }, [{ Reason: why, Reply: `0 5.1.2 ${why}` }]);
    expect(shown).toContain(`      ${why}`);
    expect(shown).toContain(`why: ${why}`);
    expect(shown).not.toContain('0 5.1.2');
    expect(shown).not.toContain('reply:');
  });

  it('says when a recipient is tried next and why it waits, each once', () => {
    const why = '127.0.0.1:25 at connect: ECONNREFUSED';
    const NextAttemptAt = '2026-11-21T13:05:00.000Z';
    const shown = text({ LastResponse: why, WaitReason: `path: ${why}`, NextAttemptAt });
    expect(shown.split(why)).toHaveLength(2);
    expect(shown).toContain(`next try ${NextAttemptAt}`);
    expect(shown).toContain(`${NextAttemptAt}, given up 2026-11-24T13:00:00.000Z`);
    const due = text({ WaitReason: 'its turn', NextAttemptAt: '2026-11-21T13:01:00.000Z' });
    expect(due).toContain('tried as soon as it can be, given up 2026-11-24T13:00:00.000Z');
    for (const at of [null, NextAttemptAt]) {
      const held = text({ Status: 'Held', WaitReason: 'held: wrong price', NextAttemptAt: at });
      expect(held).toContain('Held: wrong price');
      expect(held).toMatch(
        /`postrider queue holds` says how to release it, given up 2026-11-24T13:00:00.000Z$/m,
      );
      expect(held).not.toContain('next try');
    }
    const unknown = text({ Status: 'Held', WaitReason: 'held by domain: it is not verified' });
    expect(unknown).not.toContain('queue holds');
  });

  it('says what a good status does not say', () => {
    expect(text({ Status: 'Delivered' })).toContain('  Delivered: the next server accepted it. ');
    const captured = text({ Status: 'Delivered', Route: 'sandbox' });
    expect(captured).toContain('  Captured: this server kept it and sent nothing. ');
    expect(captured).not.toContain('took it');
    expect(text({ Status: 'Bounced' })).not.toContain('took it');
  });

  it('leaves the refusal of an earlier try out of a delivered recipient', () => {
    const LastResponse = '451 4.7.1 try again later';
    expect(text({ Status: 'Delivered', LastSmtpCode: 451, LastResponse })).not.toContain('451');
  });

  it('fits a terminal, and is one line in a pipe', () => {
    const Explanation =
      'The server asks every sender it does not know to come back a little later, as many do.';
    const shown = text({}, [{ Explanation }], narrow);
    for (const line of shown.split('\n').slice(3)) expect(line.length).toBeLessThanOrEqual(60);
    expect(shown.replace(/\s+/g, ' ')).toContain(Explanation);
    expect(text({}, [{ Explanation }])).toContain(Explanation);
  });
});

describe('wrapped', () => {
  it('keeps a word that is longer than the line whole', () => {
    const word = 'x'.repeat(90);
    expect(wrapped(narrow, 4, `a ${word} b`)).toBe(`a\n    ${word}\n    b`);
  });
});
