/** Every error of the registry has a reply of the class its status asks for. */
import { describe, expect, it } from 'vitest';
import { AppError, ERRORS, type ErrorName } from '../../lib/errors.ts';
import { replyForThrown, smtpCodes, smtpReply } from './smtp-errors.ts';

describe('an error of the registry', () => {
  it('has a reply, with an enhanced code of the same class', () => {
    for (const name of Object.keys(ERRORS) as ErrorName[]) {
      const [code, enhanced] = smtpCodes(name);
      expect(`${name} ${enhanced.charAt(0)}`).toBe(`${name} ${String(code).charAt(0)}`);
      expect(enhanced).toMatch(/^[45]\.[0-7]\.\d{1,2}$/);
    }
  });

  it('is temporary where waiting helps', () => {
    const temporary: ErrorName[] = [
      'unavailable',
      'internal',
      'rate-limited',
      'quota-exceeded',
      'idempotency-key-in-flight',
    ];
    for (const name of temporary) expect(smtpCodes(name)[0]).toBeLessThan(500);
    for (const name of ['from-domain-not-allowed', 'message-too-large', 'field-unavailable'] as const) {
      expect(smtpCodes(name)[0]).toBeGreaterThanOrEqual(500);
    }
  });

  it('says every problem in its own words', () => {
    const error = new AppError([{ name: 'tag-invalid', message: 'first' }, { name: 'priority-unknown' }]);
    expect(smtpReply(error)).toEqual({
      code: 550,
      enhanced: '5.6.0',
      name: 'tag-invalid',
      text: ['first', ERRORS['priority-unknown'].text],
    });
    expect(replyForThrown(new Error('bug'))).toBeNull();
  });
});
