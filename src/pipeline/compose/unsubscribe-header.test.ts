import { describe, expect, it } from 'vitest';
import { inOneGo } from '../../lib/turns.ts';
import {
  offersUnsubscribe,
  type PersonalOptions,
  placeholder,
  respectsOptOuts,
} from '../../model/personal.ts';
import { type ComposeInput, compose } from './compose.ts';
import { personalRaw } from './personal-raw.ts';
import { unsubscribeHeader } from './unsubscribe-header.ts';

const OPTIONS = { base: 'https://mail.example', reach: 'one-click', unsubscribe: true } as const;
const MAILTO = `<mailto:${placeholder('mailto')}@b.example?subject=unsubscribe>`;
const WEB = `/u/${placeholder('unsubscribe')}>`;
const POST = 'List-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n';

describe('the unsubscribe header', () => {
  it.each([
    ['one-click', 'https://m.example', null, `List-Unsubscribe: <https://m.example${WEB}\r\n${POST}`],
    [
      'one-click',
      'https://m.example',
      'b.example',
      `List-Unsubscribe: <https://m.example${WEB},\r\n ${MAILTO}\r\n${POST}`,
    ],
    ['page', 'http://m.example', null, `List-Unsubscribe: <http://m.example${WEB}\r\n`],
    ['none', 'http://127.0.0.1:8025', 'b.example', `List-Unsubscribe: ${MAILTO}\r\n`],
    ['none', 'http://127.0.0.1:8025', null, ''],
  ] as const)('of a base that is good for %s (%s, mailto %s)', (reach, base, mailtoDomain, expected) => {
    const made = unsubscribeHeader({ ...OPTIONS, reach, base, mailtoDomain }, 7, []);
    expect(made?.lines).toBe(expected);
    for (const { kind, offset } of made?.places ?? [])
      expect(expected.slice(offset - 7).startsWith(placeholder(kind))).toBe(true);
  });
});

describe('a message that announces the POST itself, without a List-Unsubscribe', () => {
  const personal: PersonalOptions = {
    ...{ base: 'https://mail.example', reach: 'one-click', host: '', opens: false, clicks: false },
    ...{ unsubscribe: true, mailtoDomain: null },
  };
  it('gets the link, and no second announcement', () => {
    const { bytes } = compose({
      ...{ messageId: '0193a1b2', fromDomain: 'example.com', dateMs: 0, subject: 'S' },
      ...{ from: { name: '', address: 'a@example.com' }, to: [], cc: [], replyTo: [], attachments: [] },
      headers: [['list-unsubscribe-POST', 'List-Unsubscribe=One-Click']],
      body: { kind: 'text', text: 'x' },
      personal,
    });
    expect(`${Buffer.from(bytes)}`.match(/^list-unsubscribe.*$/gim)).toEqual([
      `List-Unsubscribe: <https://mail.example${WEB}`,
      'list-unsubscribe-POST: List-Unsubscribe=One-Click',
    ]);
  });

  it('gets the same by SMTP', () => {
    const bytes = Buffer.from(`From: a@example.com\r\n${POST}\r\nx\r\n`);
    const made = inOneGo(personalRaw({ bytes, bodyOffset: bytes.length - 3 }, personal));
    expect(`${Buffer.concat(made?.parts ?? [])}`).toBe(
      `List-Unsubscribe: <https://mail.example${WEB}\r\n${bytes}`,
    );
  });
});

describe('a message whose readers can reach no link', () => {
  const personal: PersonalOptions = {
    ...{ base: 'http://127.0.0.1', reach: 'none', host: '', opens: false, clicks: false },
    ...{ unsubscribe: true, mailtoDomain: null },
  };

  it('has no header and no slot, but opt-outs still stop it', () => {
    const input: ComposeInput = {
      ...{ messageId: '0193a1b2', fromDomain: 'example.com', dateMs: 0, subject: 'S', headers: [] },
      ...{ from: { name: '', address: 'a@example.com' }, to: [], cc: [], replyTo: [], attachments: [] },
      body: { kind: 'text', text: '' },
    };
    const { bytes, places } = compose({ ...input, personal });
    expect(Buffer.from(bytes)).toEqual(Buffer.from(compose(input).bytes));
    expect([places?.places, offersUnsubscribe(places), respectsOptOuts(places)]).toEqual([[], false, true]);
  });

  it('submitted by SMTP stays as it is', () => {
    const bytes = Buffer.from('From: a@example.com\r\n\r\nx\r\n');
    const made = inOneGo(personalRaw({ bytes, bodyOffset: bytes.length - 3 }, personal));
    expect(Buffer.concat(made?.parts ?? [])).toEqual(bytes);
    expect([offersUnsubscribe(made?.places), respectsOptOuts(made?.places)]).toEqual([false, true]);
    const own = Buffer.from('List-Unsubscribe: <https://x.example/>\r\n\r\nx\r\n');
    expect(inOneGo(personalRaw({ bytes: own, bodyOffset: own.length - 3 }, personal))).toBeNull();
  });
});
