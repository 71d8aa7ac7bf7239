import { describe, expect, it } from 'vitest';
import { isCategory } from './categories.ts';
import { createClassifier } from './classify.ts';
import { kindsOf, meaningsOf, READINGS, readingOf } from './meanings.ts';
import { readReply, subjectOf } from './normalise.ts';
import type { StageGroup } from './rule-set.ts';

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

describe('a reading', () => {
  it.each(READINGS.map((reading) => [reading.id, reading] as const))(
    '%s decides its own example',
    (id, reading) => {
      expect(isCategory(reading.category)).toBe(true);
      expect(
        readingOf(subject(reading.example), reading.stages?.[0] ?? ('rcpt' satisfies StageGroup))?.id,
      ).toBe(id);
    },
  );

  it('comes after the rules that know a wording, and before the table of codes', () => {
    const classify = (reply: string) => {
      const read = readReply(reply);
      if (read === null) throw new TypeError(reply);
      return createClassifier().classify({ stage: 'rcpt', ...read, mx: 'mx.example.net', origin: 'remote' });
    };
    expect(classify('550 5.7.1 Esta casilla ha caducado')).toMatchObject({
      category: 'mailbox_inactive',
      suppress: 'inactive',
    });
    expect(classify('550 5.1.1 User unknown').ruleId).not.toMatch(/^W/);
    // Bad sequence of commands says what its code says.
    expect(classify('503 Esta casilla ha caducado').category).toBe('protocol_error');
  });

  it('of words that ask for patience counts more than a code that is doubtful for now', () => {
    const classify = (text: string, code: number, enhanced: string) =>
      createClassifier().classify({ stage: 'rcpt', code, enhanced, text, mx: '', origin: 'remote' });
    expect(classify('Not presently', 450, '4.2.1')).toMatchObject({
      category: 'service_unavailable',
      suppress: 'no',
    });
    expect(classify('Not presently', 550, '5.2.1').category).toBe('mailbox_inactive');
  });

  it('suppresses nobody by what may be about somebody else', () => {
    const classifier = createClassifier();
    for (const text of [
      'Your mailbox is caducada',
      'El buzón del remitente ha caducado',
      'Host casilla caducada',
    ])
      expect(
        classifier.classify({ stage: 'rcpt', code: 550, enhanced: null, text, mx: '', origin: 'remote' })
          .suppress,
        text,
      ).toBe('no');
  });
});
