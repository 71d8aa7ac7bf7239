import { expect, it } from 'vitest';
import { ERRORS } from '../../../../src/lib/errors.ts';
import { ADVICE, adviceFor } from './advice.ts';

it('knows only errors that there are', () => {
  expect(Object.keys(ADVICE).filter((name) => !(name in ERRORS))).toEqual([]);
});

it('says something for every refusal', () => {
  for (const [Name, { status: Status }] of Object.entries(ERRORS))
    expect(adviceFor({ Name, Status, Via: 'HTTP' }).length, Name).toBeGreaterThan(20);
  expect(adviceFor({ Name: null, Status: 452, Via: 'SMTP' })).toContain('tries again');
  expect(adviceFor({ Name: null, Status: 550, Via: 'SMTP' })).toContain('refused again');
});
