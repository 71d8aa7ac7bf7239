import { expect, it } from 'vitest';
import { PRESETS, SCOPES } from '../../../src/model/token.ts';
import { PRESETS as CARDS, rightsText } from './rights-words.ts';

it('has a card for every preset', () => {
  expect(CARDS.map(({ name }) => name).toSorted()).toEqual(Object.keys(PRESETS).toSorted());
});

it.each([
  [PRESETS.Send, 'send mail'],
  [PRESETS.Default, 'send mail; read messages, events, suppressions and statistics; change webhooks'],
  [PRESETS.Full, 'everything for its domains'],
  [PRESETS.Admin, 'everything'],
  [['tokens:read', 'stats:read', 'smtp:write'], 'read tokens and statistics; change SMTP credentials'],
  [[], 'nothing'],
])('says what scopes allow: %j', (scopes, words) => {
  expect(rightsText(scopes)).toBe(words);
});

it('names every scope', () => {
  for (const scope of SCOPES) expect(rightsText([scope]), scope).not.toContain(':');
});
