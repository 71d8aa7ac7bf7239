import { describe, expect, it } from 'vitest';
import { kindsOf, meaningsOf } from './meanings.ts';
import { readReply, subjectOf } from './normalise.ts';

function subject(reply: string): string {
  const read = readReply(reply);
  if (read === null) throw new TypeError(reply);
  return subjectOf(read.code, read.enhanced, read.text);
}

describe('the kinds of words in a reply', () => {
  it('are found by a word, by its beginning, by words that follow one another, and in unspaced scripts', () => {
    expect(kindsOf('casilla')).toContain('recipient');
    expect(kindsOf('caducada')).toContain('closed');
    expect(meaningsOf(subject('450 too many'))).toContain('many');
    expect([...meaningsOf(subject('550 该用户未开通'))]).toEqual(
      expect.arrayContaining(['recipient', 'absent']),
    );
  });

  it.each([
    ['550 The mailbox was not found', 'absent'],
    ['550 Das Postfach existiert nicht', 'absent'],
    ['550 Cette boîte n’existe plus', 'absent'],
    ['550 Такого ящика не существует', 'absent'],
    ['550 The mailbox is not active', 'closed'],
    ['550 We do not accept this', 'blocked'],
  ])('turn with a negation: %s', (reply, kind) => {
    expect(meaningsOf(subject(reply))).toContain(kind);
  });

  it('are not found in a longer word of a script without blanks, the longest is read', () => {
    const said = meaningsOf(subject('552 メールボックスが一杯です'));
    expect(said).toContain('recipient');
    expect(said).toContain('full');
    expect(said).not.toContain('content');
  });

  it('of words that follow one another are not those of each', () => {
    const said = meaningsOf(subject('550 Dirección IP bloqueada'));
    expect(said).toContain('ip');
    expect(said).not.toContain('recipient');
  });

  it.each([
    '550 Kein solcher Benutzer auf diesem Server',
    '550 No such user in this domain',
    '550 Modtageren findes ikke på denne server',
    '550 Пользователь на нашем почтовом сервере не найден',
  ])('do not come from where the recipient is: %s', (reply) => {
    const said = meaningsOf(subject(reply));
    expect(said).toContain('absent');
    expect(said).not.toContain('host');
    expect(said).not.toContain('domain');
  });

  it('do not come from where more is to be found', () => {
    expect([
      ...meaningsOf(subject('450 Aborted, see www for more details about this error message.')),
    ]).toEqual([]);
  });

  it('do not come from addresses, links and codes; an address in figures is a kind of its own', () => {
    expect([...meaningsOf(subject('550 5.7.1 unknown@spam.example https://spam.example/blacklist'))]).toEqual(
      [],
    );
    expect(meaningsOf(subject('550 see 192.0.2.1'))).toContain('ipv4');
    expect(meaningsOf(subject('550 found in rbl.example.org'))).toContain('list');
  });
});
