import { describe, expect, it } from 'vitest';
import { createClassifier } from './classify.ts';
import { readReply } from './normalise.ts';
import { notFinalIn } from './not-final.ts';
import { isProbablyInvalid } from './verdict.ts';

function classify(classifier: ReturnType<typeof createClassifier>, reply: string, mx = 'mx.example.net') {
  const read = readReply(reply);
  if (read === null) throw new TypeError(reply);
  return classifier.classify({ stage: 'rcpt', ...read, mx, origin: 'remote' });
}

describe('a refusal that asks for another attempt', () => {
  const classifier = createClassifier();

  it.each([
    [
      '550-Requested action not taken: mailbox unavailable\n550 Failure sending mail. Try again later.',
      'mail.gmx.net',
    ],
    ['550 5.1.1 <a@example.net>: User unknown, please try again later', undefined],
    ['550 5.1.1 user unknown; retry in 10 minutes', undefined],
    ['550 5.1.1 User temporarily unknown', undefined],
    ['550 5.1.1 unknown user at this time', undefined],
    ['550 5.1.1 Benutzer unbekannt, bitte versuchen Sie es spater erneut', undefined],
    ['550 5.1.1 utilisateur inconnu, reessayez plus tard', undefined],
    ['550 5.1.1 usuario desconocido, intente mas tarde', undefined],
    ['550 5.1.1 Пользователь не найден, повторите позже', undefined],
    ['550 5.2.1 account disabled, try later', undefined],
    ['550 5.2.1 mailbox disabled, try again', undefined],
    // A state that ends by itself.
    ['550 5.1.1 mailbox is being migrated', undefined],
    ['550 5.1.1 Mailbox not yet created', undefined],
    ['550 Account is not activated yet', undefined],
    ['550 5.2.1 Mailbox busy', undefined],
    ['550 5.2.1 mailbox locked by another process', undefined],
    ['550 5.1.1 account pending activation', undefined],
    ['550 5.1.1 mailbox is syncing', undefined],
    ['550 5.1.1 recipient is on vacation', undefined],
    ['550 5.1.1 Der Empfänger ist im Urlaub', undefined],
    ['550 Konto noch nicht aktiviert', undefined],
    ['550 5.1.1 Postfach wird gerade umgezogen', undefined],
    ['550 5.1.1 Boîte aux lettres en cours de création', undefined],
    ['550 5.1.1 Cuenta aún no activada', undefined],
    ["550 5.1.1 L'utente è in vacanza", undefined],
    ['550 5.1.1 Conta ainda não ativada', undefined],
    ['550 5.1.1 Postvak wordt gemigreerd', undefined],
    ['550 5.1.1 Skrzynka zajęta', undefined],
    ['550 5.1.1 Schránka ještě nebyla vytvořena', undefined],
    ['550 5.1.1 Mottagaren är på semester', undefined],
    ['550 5.1.1 Käyttäjä on lomalla', undefined],
    ['550 5.1.1 Почтовый ящик еще не создан', undefined],
    ['550 5.1.1 Hesap henüz etkinleştirilmedi', undefined],
    ['550 5.1.1 邮箱正在迁移', undefined],
    ['550 5.1.1 ユーザーは休暇中です', undefined],
    ['550 5.1.1 계정이 아직 활성화되지 않았습니다', undefined],
  ])('neither suppresses nor counts against the address: %s', (reply, mx) => {
    const verdict = classify(classifier, reply, mx);
    expect(verdict.suppress).toBe('no');
    expect(isProbablyInvalid(verdict)).toBe(false);
  });

  it.each([
    ['550 5.1.1 User unknown, check the address and try again', 'hard'],
    ['550 5.1.1 No such user: correct the address, and try again', 'hard'],
    ['550 No mailbox by that name is currently available', 'hard'],
    ['550 5.2.1 account temporarily disabled', 'inactive'],
    ['552 5.2.2 mailbox full, try again later', 'soft'],
    ['550 5.1.1 mailbox is being deleted', 'hard'],
    ['550 5.1.1 The email account that you are trying to reach does not exist', 'hard'],
    ['550 5.1.1 <urlaub@hotel.example>: User unknown', 'hard'],
    ['550 5.1.1 <later@try-again.example>: User unknown', 'hard'],
    ['550 5.1.1 User unknown at busy.bees.example.com', 'hard'],
    ['550 5.1.1 no such user, see https://example.com/on-vacation', 'hard'],
    ['550 5.1.1 account pending deletion', 'hard'],
    ['550 5.2.1 mailbox not in use', 'inactive'],
    ['550 5.1.1 este usuario no existe', 'hard'],
    ['550 5.1.1 вообще не существует такой пользователь', 'hard'],
    ['550 5.2.1 アカウントは使用中止です', 'inactive'],
    ['550 5.1.1 unknown local-part "ferien" in domain "hotel.example"', 'hard'],
    ["550 5.1.1 'info.urlaub' user unknown", 'hard'],
    ['550 5.1.1 <busy>: User unknown', 'hard'],
    ['550 5.1.1 unknown user: urlaub', 'hard'],
    ['550 5.1.1 Der Benutzer ist nicht mehr bei uns beschäftigt', 'hard'],
    ['550 5.1.1 Benutzer unbekannt, das Konto wird gerade gelöscht', 'hard'],
    ['550 5.1.1 Utilisateur inconnu, compte en cours de suppression', 'hard'],
    ['550 5.1.1 Usuario desconocido, cuenta en proceso de eliminación', 'hard'],
    ['550 5.1.1 Utente sconosciuto, account in fase di cancellazione', 'hard'],
    ['550 5.1.1 Usuário inexistente, conta em processo de exclusão', 'hard'],
    ['550 5.1.1 User unknown, account in the process of deletion', 'hard'],
    ['550 5.1.1 Recipient not found. If the problem is persisting contact support', 'hard'],
    ['550 5.1.1 no such address here. This system is using recipient verification', 'hard'],
  ])('is told from others: %s', (reply, suppress) => {
    expect(classify(classifier, reply).suppress).toBe(suppress);
  });

  it('counts as an operator wrote it', () => {
    const own = createClassifier();
    const rule = {
      id: 'T1',
      when: '5xx',
      re: 'no such user here, try again later',
      lit: ['no such user'],
      category: 'recipient_invalid',
      confidence: 'high',
      example: '550 no such user here, try again later',
      nearMiss: '550 no such user',
    };
    expect(classify(own, rule.example).suppress).toBe('no');
    expect(own.useOperatorRules([rule])).toEqual({ kind: 'used', count: 1 });
    expect(classify(own, rule.example).suppress).toBe('hard');
  });

  it('is found in time that grows with the reply', () => {
    for (const word of [
      'try ',
      'check ',
      'sending ',
      'again.',
      'failure sending ',
      'no ',
      'under a',
      'ikke ',
      'is ',
    ])
      expect(['passing', 'moment', null]).toContain(notFinalIn(word.repeat(400)));
  });
});
