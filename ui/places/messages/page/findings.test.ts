/** What keeps a message from its recipients, once for all of whom it is true, in the server's sentences. */
import { describe, expect, it } from 'vitest';
import type { MessageRecipient, TimelineEntry } from '../../../../src/client/api-types.ts';
import { conversationLines, entryFacts, entryTitle } from './entry-words.ts';
import { findingsOf, waitText } from './findings.ts';

const RECIPIENT: MessageRecipient = {
  Email: 'ada@example.net',
  Type: 'To',
  Status: 'Bounced',
  Attempts: 1,
  LastSmtpCode: 550,
  LastResponse: '550 5.1.1 unknown',
  Class: 'RecipientInvalid',
  WaitReason: '',
  NextAttemptAt: null,
  ExpiresAt: '2026-11-24T00:00:00.000Z',
  Route: 'mx',
  PossibleDuplicate: false,
  CauseID: null,
  UpdatedAt: '2026-11-22T00:00:00.000Z',
};
const ENTRY: TimelineEntry = {
  EventID: '019ab0c1-7d3e-7000-8000-000000000001',
  Event: 'bounced',
  At: '2026-11-22T00:00:00.000Z',
  LogLevel: 'Error',
  Recipient: 'ada@example.net',
  Attempt: 1,
  Route: 'mx',
  Reason: '550 5.1.1 unknown',
  RemoteMta: 'mx.example.net',
  SourceAddress: '',
  Reply: '550 5.1.1 unknown',
  Tls: 'TLSv1.3 AES, certificate verified',
  DurationMs: 12_345,
  NextAttemptAt: null,
  PossibleDuplicate: false,
  Bounce: null,
  Explanation: 'The mailbox does not exist.',
  IPAddress: '',
  UserAgent: '',
  URL: '',
};

describe('findings', () => {
  it('say what this server decided as its own sentence, where the timeline does not tell it', () => {
    const own = { ...RECIPIENT, LastSmtpCode: 0, LastResponse: 'the domain example.net does not exist' };
    expect(findingsOf({ Recipients: [own] }, [])).toMatchObject([
      { sentence: 'the domain example.net does not exist', reply: '' },
    ]);
    expect(findingsOf({ Recipients: [RECIPIENT] }, [])).toMatchObject([
      { sentence: '', reply: '550 5.1.1 unknown' },
    ]);
  });

  it('say one thing once, the worst first', () => {
    const Recipients: MessageRecipient[] = [
      {
        ...RECIPIENT,
        Email: 'late@example.net',
        Status: 'Queued',
        WaitReason: 'path: mx.example.net is closed',
      },
      RECIPIENT,
      { ...RECIPIENT, Email: 'bob@example.net' },
      { ...RECIPIENT, Email: 'well@example.net', Status: 'Delivered' },
    ];
    const found = findingsOf({ Recipients }, [ENTRY, { ...ENTRY, Recipient: 'bob@example.net' }]);
    expect(found.map(({ status, recipients, sentence }) => [status, recipients, sentence])).toEqual([
      ['Bounced', ['ada@example.net', 'bob@example.net'], 'The mailbox does not exist.'],
      ['Queued', ['late@example.net'], 'mx.example.net is closed'],
    ]);
    expect(found[0]).toMatchObject({ reply: '550 5.1.1 unknown', host: 'mx.example.net' });
  });

  it('name no server where this one decided', () => {
    const reply = '0 5.1.2 the domain does not exist';
    const entry = { ...ENTRY, Reply: reply, Reason: 'the domain does not exist', Explanation: '' };
    expect(findingsOf({ Recipients: [RECIPIENT] }, [entry])[0]).toMatchObject({
      sentence: 'the domain does not exist',
      reply: '',
    });
  });

  it.each([
    ['Held', 'held by domain: the domain a.example is not verified (Failing)', 'domain'],
    ['Held', 'held by domain: the DKIM key of a.example cannot be used: it has no active key', 'domain'],
    ['Held', 'held: the domain moves to another server', 'hold'],
    ['Queued', 'path: the domain is away', null],
  ] as const)('say what keeps mail back: %s by "%s"', (Status, WaitReason, heldBy) => {
    const waiting = { ...RECIPIENT, Status, WaitReason };
    expect(findingsOf({ Recipients: [waiting] }, [])[0]).toMatchObject({ heldBy });
  });

  it('show why it waits without the kind of reason', () => {
    expect(waitText('held by domain: the domain is paused')).toBe('The domain is paused');
    expect(waitText('deferred')).toBe('');
  });
});

describe('lines of a timeline', () => {
  it('are words, with what is known and nothing else', () => {
    expect(entryTitle(ENTRY)).toBe('Attempt 1: refused for good');
    expect(entryFacts(ENTRY)).toEqual(['mx.example.net', 'TLSv1.3 AES, certificate verified', '12.3 s']);
    expect(entryFacts({ ...ENTRY, RemoteMta: '', Tls: '', DurationMs: null })).toEqual([]);
    expect(entryFacts({ ...ENTRY, SourceAddress: '2001:db8::10' })[1]).toBe('from 2001:db8::10');
    expect(entryTitle({ ...ENTRY, Event: 'new.kind' })).toBe('new.kind');
  });

  it('are the lines of the conversation, whatever they hold', () => {
    expect(conversationLines('0 S: 220 mx\n1200 C: EHLO a\n(2 more)')).toEqual([
      { at: '0 ms', who: 'server', said: '220 mx' },
      { at: '1.2 s', who: 'client', said: 'EHLO a' },
      { at: '', who: '', said: '(2 more)' },
    ]);
  });
});
