import { describe, expect, it } from 'vitest';
import type { DsnRecipient } from '../../mail/dsn.ts';
import type { MessageId } from '../../model/message.ts';
import type { ReturnSubject } from '../../store/topics/returns.ts';
import { createClassifier } from '../deliver/outcome/classifier/classify.ts';
import { bounceFact, byAddress } from './bounce-fact.ts';

const SUBJECT: ReturnSubject = {
  deliveryId: 1,
  messageId: '' as MessageId,
  address: 'ann@shop.example.net',
  route: 'mx',
  sandbox: false,
  sentAt: 0,
};
const BLOCK: DsnRecipient = {
  action: 'failed',
  status: '5.1.1',
  diagnostic: '550 5.1.1 no such user',
  isSmtp: true,
  finalRecipient: SUBJECT.address,
  originalRecipient: null,
  remoteMta: 'mx.example.net',
};
const DEPS: Parameters<typeof bounceFact>[3] = {
  classifier: createClassifier(),
  event: (kind, detail) => ({ id: '', kind, at: 0, detail }),
  now: 0,
};

function factOf(block: Partial<DsnRecipient>) {
  const report = { reportingMta: '', recipients: [{ ...BLOCK, ...block }], returned: [] };
  const fact = bounceFact(SUBJECT, byAddress(report), { mayWait: false, shared: false }, DEPS);
  if (fact?.kind !== 'bounce') throw new Error(`Expected a bounce, got ${fact?.kind}`);
  return fact;
}

describe('a report that a recipient failed', () => {
  it('has the code of the reply that it quotes', () => {
    expect(factOf({ diagnostic: '452 4.2.2 mailbox full' }).lastCode).toBe(452);
  });

  it('has the code of its status where the reply is none of a failure', () => {
    const [said, status] = ['250 2.0.0 queued', '4.2.2'];
    expect(factOf({ diagnostic: said }).lastCode).toBe(550);
    expect(factOf({ diagnostic: said, status }).lastCode).toBe(450);
  });

  it('suppresses nobody where it quotes a success', () => {
    const fact = factOf({ diagnostic: '250 2.1.5 OK' });
    expect(fact).toMatchObject({ class: 'recipient_invalid', suppress: null });
  });

  it.each([
    ['ann@mail.shop.example.net', 'Bounce'],
    ['ann@mailbox.example', undefined],
    ['a.smith@shop.example.net', undefined],
    ['an undisclosed address', undefined],
  ])('that was sent to ours first, and is about %s', (finalRecipient, reason) => {
    expect(factOf({ finalRecipient, originalRecipient: SUBJECT.address }).suppress?.reason).toBe(reason);
  });

  it('of a server behind a forwarding says nothing of the servers that it was sent to', () => {
    const forwarded = { finalRecipient: 'ann@mailbox.example', originalRecipient: SUBJECT.address };
    const { event } = factOf({
      ...forwarded,
      status: '4.4.7',
      isSmtp: false,
      diagnostic: 'retry timeout exceeded',
    });
    expect(event.detail?.bounce).toMatchObject({ Class: 'ServiceUnavailable', Scope: 'message' });
  });

  it('names ours also with a domain in its own letters', () => {
    const subject = { ...SUBJECT, address: 'ann@xn--bcher-kva.example' };
    const report = {
      reportingMta: '',
      recipients: [{ ...BLOCK, finalRecipient: 'Ann@Bücher.example' }],
      returned: [],
    };
    const fact = bounceFact(subject, byAddress(report), { mayWait: false, shared: true }, DEPS);
    expect(fact?.kind).toBe('bounce');
  });

  it('has no code where it quotes no SMTP reply', () => {
    const fact = factOf({ isSmtp: false, diagnostic: 'mailbox disabled' });
    expect(fact.lastCode).toBe(0);
    expect(fact.event.detail?.bounce).toMatchObject({ SmtpCode: 0, EnhancedCode: '5.1.1' });
  });

  it.each([
    ['ann@example.net', true],
    ['ann@mail.shop.example.net', true],
    ['ann@elsewhere.example', false],
    ['ann@notshop.example.net', false],
    ['Ann+news@example.net', true],
    ['bob@shop.example.net', false],
    ['annabel@example.net', false],
  ])('suppresses ours where it names %s: %s', (finalRecipient, suppresses) => {
    expect(factOf({ finalRecipient }).suppress !== null).toBe(suppresses);
  });

  it('that was forwarded and only probably means an invalid address does not count', () => {
    const unsure = { status: '5.0.0', diagnostic: '550 addressee left the company' };
    expect(factOf(unsure).suppress).toMatchObject({ reason: 'Bounce', needs: expect.anything() });
    expect(factOf({ ...unsure, finalRecipient: 'ann@example.net' }).suppress).toBeNull();
  });
});

describe('a report with many blocks', () => {
  it('is looked through once, however many recipients it is asked about', () => {
    let looks = 0;
    const recipients = Array.from({ length: 1000 }, (_, i) => ({
      ...BLOCK,
      get finalRecipient() {
        looks += 1;
        return `reader${i}@shop.example.net`;
      },
    }));
    const report = byAddress({ reportingMta: '', recipients, returned: [] });
    const after = looks;
    const options = { mayWait: false, shared: true };
    const facts = recipients.map((_, i) => {
      const subject = { ...SUBJECT, address: `READER${2 * i}@shop.example.net` };
      return bounceFact(subject, report, options, DEPS)?.kind;
    });
    expect(facts.filter((kind) => kind === 'bounce')).toHaveLength(500);
    expect(facts.filter((kind) => kind === undefined)).toHaveLength(500);
    expect(looks).toBe(after);
  });
});
