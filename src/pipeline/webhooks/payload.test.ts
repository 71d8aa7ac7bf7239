import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EVENT_KINDS, type EventKind } from '../../model/event.ts';
import type { MessageId } from '../../model/message.ts';
import type { EventView } from '../../store/topics/events.ts';
import { callId, MAX_BODY_BYTES, webhookBody } from './payload.ts';

const BCC = 'hidden@bcc.test';

function view(changes: Partial<EventView> = {}, message: Partial<EventView['message']> = {}): EventView {
  return {
    seq: 1,
    id: '019a5e0c-1111-7222-8333-444455556666',
    kind: 'delivered',
    at: Date.parse('2026-11-21T03:20:11.412Z'),
    domain: 'example.com',
    detail: null,
    message: {
      id: '019a5e0c-aaaa-7bbb-8ccc-ddddeeeeffff' as MessageId,
      lists: {
        from: { name: 'A', address: 'a@example.com' },
        to: [{ name: 'B', address: 'b@example.net' }],
        cc: [{ name: '', address: 'c@example.net' }],
        bcc: [{ name: '', address: BCC }],
        replyTo: [],
      },
      subject: 'Hello',
      size: 99,
      tags: ['welcome'],
      metadata: { order: '7' },
      sandbox: false,
      ...message,
    },
    recipient: 'b@example.net',
    deliveryId: 5,
    route: null,
    ...changes,
  };
}

function parse(event: EventView) {
  return JSON.parse(Buffer.from(webhookBody(event, 972)).toString('utf8'));
}

const BOUNCE = {
  RemoteMta: 'mx.example.net',
  Diagnostic: '550 5.1.1 no such user',
  EnhancedCode: '5.1.1',
  SmtpCode: 550,
  Phase: 'Session',
  Scope: 'recipient',
  Class: 'RecipientInvalid',
  Type: 'Permanent',
} as const;

describe('the body of a webhook call', () => {
  it('is exactly the documented one, in its order, for a bounce', () => {
    const body = Buffer.from(
      webhookBody(view({ kind: 'bounced', detail: { attempt: 1, bounce: BOUNCE } }), 972),
    ).toString('utf8');
    expect(body).toBe(
      '{"type":"email.bounced","timestamp":"2026-11-21T03:20:11.412Z","data":{' +
        '"EventID":"019a5e0c-1111-7222-8333-444455556666","WebhookID":972,"Event":"bounced",' +
        '"Domain":"example.com","MessageID":"019a5e0c-aaaa-7bbb-8ccc-ddddeeeeffff",' +
        '"From":"a@example.com","To":"b@example.net","Subject":"Hello","Tags":["welcome"],' +
        '"Metadata":{"order":"7"},"Sandbox":false,"Attempt":1,"Bounce":{"Type":"Permanent",' +
        '"Class":"RecipientInvalid","Scope":"recipient","Phase":"Session","SmtpCode":550,' +
        '"EnhancedCode":"5.1.1","Diagnostic":"550 5.1.1 no such user","RemoteMta":"mx.example.net"}}}',
    );
  });

  it('adds the members of each kind', () => {
    expect(parse(view({ detail: { route: 'mx', possibleDuplicate: true } })).data).toMatchObject({
      Route: 'mx',
      PossibleDuplicate: true,
    });
    const deferred = parse(
      view({ kind: 'deferred', detail: { bounce: { ...BOUNCE, Type: 'Transient' }, nextAttemptAt: 0 } }),
    );
    expect(deferred.data.Bounce.Type).toBe('Transient');
    expect(deferred.data.NextAttemptAt).toBe('1970-01-01T00:00:00.000Z');
    const clicked = parse(
      view({ kind: 'clicked', detail: { ipAddress: '192.0.2.1', url: 'https://x.test/' } }),
    );
    expect(clicked.data).toMatchObject({
      IPAddress: '192.0.2.1',
      UserAgent: '',
      URL: 'https://x.test/',
      Bot: false,
    });
  });

  it('says nothing of a message where there is none', () => {
    const body = parse(
      view({
        kind: 'webhook.disabled',
        message: null,
        recipient: null,
        detail: { webhookId: 3, reason: 'Gone' },
      }),
    );
    expect(body).toEqual({
      type: 'webhook.disabled',
      timestamp: '2026-11-21T03:20:11.412Z',
      data: {
        EventID: '019a5e0c-1111-7222-8333-444455556666',
        WebhookID: 972,
        Domain: 'example.com',
        DisabledWebhookID: 3,
        Reason: 'Gone',
      },
    });
  });

  it('names one recipient and no list, so a BCC stays hidden, in every kind', () => {
    for (const kind of Object.keys(EVENT_KINDS) as EventKind[]) {
      const text = Buffer.from(webhookBody(view({ kind }), 1)).toString('utf8');
      expect(text).not.toContain(BCC);
      expect(text).not.toContain('c@example.net');
    }
  });

  it('never exceeds 20 kB and stays JSON, whatever the texts are', () => {
    const wild = fc.string({ unit: 'binary', maxLength: 3_000 });
    fc.assert(
      fc.property(
        wild,
        fc.array(wild, { maxLength: 10 }),
        fc.dictionary(fc.string({ maxLength: 40 }), wild, { maxKeys: 20 }),
        wild,
        fc.constantFrom<EventKind>('bounced', 'clicked', 'failed', 'deferred'),
        (subject, tags, metadata, text, kind) => {
          const event = view(
            {
              kind,
              detail: {
                bounce: { ...BOUNCE, Diagnostic: text, RemoteMta: text },
                url: text,
                userAgent: text,
                reason: text,
              },
            },
            { subject, tags, metadata },
          );
          const bytes = webhookBody(event, 1);
          expect(bytes.length).toBeLessThanOrEqual(MAX_BODY_BYTES);
          const body = JSON.parse(Buffer.from(bytes).toString('utf8'));
          expect(subject.startsWith(body.data.Subject)).toBe(true);
        },
      ),
      { numRuns: 60 },
    );
  });

  it('says that it was shortened, and keeps the ids', () => {
    const event = view({}, { subject: '\u0001'.repeat(5_000), metadata: { big: 'x'.repeat(30_000) } });
    const { data } = parse(event);
    expect(data.Truncated).toBe(true);
    expect(data.MessageID).toBe('019a5e0c-aaaa-7bbb-8ccc-ddddeeeeffff');
    expect(parse(view()).data).not.toHaveProperty('Truncated');
  });

  it('keeps a metadata key named __proto__ as data', () => {
    const metadata = JSON.parse('{"__proto__":"x"}');
    expect(Buffer.from(webhookBody(view({}, { metadata }), 1)).toString()).toContain('{"__proto__":"x"}');
  });

  it('is known by the event, not by the try', () => {
    expect(callId('019a5e0c-1111-7222-8333-444455556666')).toBe('evt_019a5e0c111172228333444455556666');
  });
});
