import { describe, expect, it } from 'vitest';
import { cpuMsOf } from '../../../../../test/fakes/thread-cpu.ts';
import { createClassifier } from './classify.ts';
import { readReply } from './normalise.ts';
import { namesOtherSubjects } from './other-subjects.ts';

describe('whom a reply is about', () => {
  it.each([
    '550 return address does not exist',
    '550 originating address unknown',
    '550 5.1.1 sender user unknown',
    '550 user unknown [192.0.2.1]',
    '550 ihre ip-adresse ist unbekannt',
    '550 конто отправителя',
    '550 发件人账号已停用',
    '554 the address in the subject line is invalid',
    '550 5.1.1 <b-08000000000042-0123456789abcdef@bounce.example>: user unknown',
    '550 el usuario te tiene bloqueado',
    '550 o usuario te tem bloqueado',
    '550 ha sido bloqueado por el usuario',
    '550 foi bloqueado pelo destinatario',
    '550 bloccato dal destinatario',
    "550 bloccato dall'utente",
    '550 bloque par le destinataire',
    '550 vom empfanger gesperrt',
    '550 durch den benutzer blockiert',
    '550 geblokkeerd door de ontvanger',
    '550 zablokowane przez odbiorce',
    '550 заблокирован получателем',
  ])('may be somebody else: %s', (subject) => {
    expect(namesOtherSubjects(subject)).toBe(true);
  });

  it.each([
    '550 5.1.1 <server@dns.example> user unknown in relay recipient table',
    '550 no such user on this server',
    '550 the account you tried to reach does not exist',
    '550 5.1.1 words never heard of before',
    '550 5.1.1 user unknown [192.0.2.1]',
    '550 utilisateur inconnu',
    '550 cuenta bloqueada',
    '550 postfach gesperrt',
    '550 5.1.1 <b-side@recipient.example>: user unknown',
  ])('is the recipient: %s', (subject) => {
    expect(namesOtherSubjects(subject)).toBe(false);
  });

  it('may be said by a server that names itself, not by one that names another', () => {
    expect(
      namesOtherSubjects('550 unknown user: this freenet address is not assigned', 'emig.freenet.de'),
    ).toBe(false);
    expect(
      namesOtherSubjects('550 unknown user: this freenet address is not assigned', 'mx.example.net'),
    ).toBe(true);
    expect(namesOtherSubjects('550 user unknown (sender)', 'mx.sender.example')).toBe(true);
  });

  it('keeps a verdict and takes its suppression back, but not from an operator or a known server', () => {
    const classifier = createClassifier();
    const ask = (pasted: string, mx: string) => {
      const reply = readReply(pasted);
      if (reply === null) throw new TypeError(pasted);
      return classifier.classify({ stage: 'rcpt', ...reply, mx, origin: 'remote' });
    };
    const unclear = '550 Originating address unknown';
    expect(ask(unclear, 'mx.example.net')).toMatchObject({
      category: 'recipient_invalid',
      action: 'bounce',
      suppress: 'no',
      confidence: 'medium',
    });
    const google =
      '550-5.2.1 The email account that you tried to reach is inactive. For support go to your host';
    expect(ask(google, 'gmail-smtp-in.l.google.com').suppress).toBe('inactive');
    expect(ask(google, 'mx.example.net').suppress).toBe('no');
    const used = classifier.useOperatorRules([
      {
        ...{ id: 'OP1', when: '5xx', re: 'originating address unknown', lit: ['originating'] },
        ...{ category: 'recipient_invalid', confidence: 'high' },
        ...{ example: unclear, nearMiss: '550 Originating address is fine' },
      },
    ]);
    expect(used).toEqual({ kind: 'used', count: 1 });
    expect(ask(unclear, 'mx.example.net').suppress).toBe('hard');
  });

  it('reads a reply of any size in time that grows with it alone', () => {
    const long = `550 ${'your@'.repeat(400)} ${'a.'.repeat(400)} ${'1'.repeat(600)}`;
    expect(cpuMsOf(() => namesOtherSubjects(long))).toBeLessThan(200);
  });
});
