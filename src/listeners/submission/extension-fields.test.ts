import { describe, expect, it } from 'vitest';
import { AppError } from '../../lib/errors.ts';
import { readExtensionFields } from './extension-fields.ts';

const NOW = Date.UTC(2026, 10, 21, 12);
const DAY = 24 * 3_600_000;
const read = (...fields: [string, string][]) => readExtensionFields(fields, NOW);

/** The fields and names of the problems. */
function problems(...fields: [string, string][]): string[] {
  try {
    read(...fields);
    return [];
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return error.problems.map(({ name, field }) => `${field} ${name}`);
  }
}

describe('the X-Postrider- fields of a message', () => {
  it('say nothing where there are none', () => {
    expect(read()).toEqual({
      ...{ tags: [], metadata: {}, sendAt: null, expiresAt: null, lane: 'normal', sandbox: null },
      ...{ keepContent: true, personal: null, idempotencyKey: null },
    });
  });

  it('name each tag once, ten at most, of 128 characters at most', () => {
    expect(read(['tag', ' a '], ['tag', 'b'], ['tag', 'a']).tags).toEqual(['a', 'b']);
    const tags = Array.from({ length: 11 }, (_, n): [string, string] => ['tag', `t${n}`]);
    expect(problems(...tags.slice(1))).toEqual([]);
    expect(problems(...tags)).toEqual(['X-Postrider-Tag tags-count']);
    expect(problems(['tag', 'x'.repeat(128)])).toEqual([]);
    expect(problems(['tag', 'x'.repeat(129)], ['tag', ''])).toEqual([
      'X-Postrider-Tag tag-invalid',
      'X-Postrider-Tag tag-invalid',
    ]);
  });

  it('are refused where one is given twice, or has no effect in this version', () => {
    expect(problems(['priority', 'bulk'], ['priority', 'bulk'])).toEqual([
      'X-Postrider-priority duplicate-property',
    ]);
    expect(problems(['template-id', 'x'])).toEqual(['X-Postrider-template-id field-unavailable']);
  });

  it('are refused where the name is not known, except for the one that this server writes', () => {
    expect(() => readExtensionFields([['send-att', '2030-01-01T00:00:00Z']], NOW)).toThrow(
      expect.objectContaining({
        problems: [
          {
            name: 'unknown-property',
            field: 'X-Postrider-send-att',
            message: 'X-Postrider-send-att is not known; did you mean Send-At?',
          },
        ],
      }),
    );
    expect(problems(['anything-else', 'x'])).toEqual(['X-Postrider-anything-else unknown-property']);
    expect(problems(['ref', '0t000000000001-jwhz22ebpzzs8vrw'], ['ref', 'x'])).toEqual([]);
    const many = Array.from({ length: 5000 }, (_, i): [string, string] => [`x${i}`, 'x']);
    expect(problems(...many)).toHaveLength(25);
  });

  it.each([
    ['opens', { opens: true, clicks: false }],
    ['Clicks', { opens: false, clicks: true }],
    ['opens, clicks', { opens: true, clicks: true }],
    ['off', { opens: false, clicks: false }],
    ['yes', { opens: true, clicks: true }],
  ])('Track: %s', (value, found) => {
    expect(read(['track', value]).personal).toEqual({ ...found, listUnsubscribe: null });
  });

  it('can ask for tracking and for an unsubscribe link, in either order', () => {
    const both = { opens: true, clicks: false, listUnsubscribe: true };
    expect(read(['track', 'opens'], ['list-unsubscribe', 'yes']).personal).toEqual(both);
    expect(read(['list-unsubscribe', 'yes'], ['track', 'opens']).personal).toEqual(both);
    expect(problems(['track', 'opens, all'], ['list-unsubscribe', 'maybe'])).toEqual([
      'X-Postrider-Track tracking-invalid',
      'X-Postrider-List-Unsubscribe list-unsubscribe-invalid',
    ]);
  });

  it('say whether the content is kept, what the sandbox simulates, and how urgent it is', () => {
    expect(read(['keep-content', 'No']).keepContent).toBe(false);
    expect(read(['keep-content', '1']).keepContent).toBe(true);
    expect(read(['sandbox', 'Bounce']).sandbox).toBe('bounce');
    expect(read(['sandbox', 'true']).sandbox).toBe('deliver');
    expect(read(['sandbox', 'no']).sandbox).toBeNull();
    expect(read(['priority', 'Critical']).lane).toBe('critical');
    expect(problems(['keep-content', 'x'], ['sandbox', 'x'], ['priority', 'x'])).toEqual([
      'X-Postrider-Keep-Content invalid-parameter',
      'X-Postrider-Sandbox sandbox-result-unknown',
      'X-Postrider-Priority priority-unknown',
    ]);
  });

  it('give an expiry that counts from the time of sending, whatever their order', () => {
    const sendAt = String((NOW + 29 * DAY) / 1000);
    const expiresAt = String((NOW + 31 * DAY) / 1000);
    const fields: [string, string][] = [
      ['expires-at', expiresAt],
      ['send-at', sendAt],
    ];
    expect(read(...fields)).toMatchObject({ sendAt: NOW + 29 * DAY, expiresAt: NOW + 31 * DAY });
    expect(problems(['expires-at', String((NOW + 28 * DAY) / 1000)], ['send-at', sendAt])).toEqual([
      'X-Postrider-Expires-At expires-at-invalid',
    ]);
  });

  it('take a key of 1 to 255 visible characters', () => {
    expect(read(['idempotency-key', '!'.repeat(255)]).idempotencyKey).toHaveLength(255);
    for (const key of ['', 'a b', 'ü', '!'.repeat(256)])
      expect(problems(['idempotency-key', key])).toEqual([
        'X-Postrider-Idempotency-Key idempotency-key-invalid',
      ]);
  });
});
