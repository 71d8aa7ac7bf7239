/** Every kind that a webhook may name has its words. */
import { expect, it } from 'vitest';
import { WEBHOOK_TOKENS } from '../../../src/model/event.ts';
import { EVENT_GROUPS, eventsText } from './event-words.ts';

it('names every token once', () => {
  const named = EVENT_GROUPS.flatMap(({ events }) => events.map(({ token }) => token));
  expect([...named, 'all'].sort()).toEqual([...WEBHOOK_TOKENS].sort());
  expect(eventsText(['bounce', 'complaint'])).toBe('Bounced, Complained');
  expect(eventsText(['all'])).toBe('All events');
});
