/** The composed bytes of a message as they are downloaded: as composed, or as one recipient's copy. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MAIL, openWorld, type World } from '../test-world.ts';

let world: World;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());

describe('GET /email/{id}/raw', () => {
  const zeros = /\/u\/0{32}>/;
  const send = () => world.sendMail({ ...MAIL, Priority: 'bulk' });
  const raw = (id: string, query = '') => world.call('GET', `/email/${id}/raw${query}`);

  it('holds zeros where links are personal, and what one recipient got where it is named', async () => {
    const id = await send();
    const composed = (await raw(id)).text;
    expect(composed).toMatch(zeros);
    const bob = (await raw(id, '?Recipient=Bob@EXAMPLE.net')).text;
    const cleo = (await raw(id, '?Recipient=cleo@example.org')).text;
    for (const copy of [bob, cleo]) {
      expect(copy).not.toMatch(zeros);
      expect(copy).toMatch(/\/u\/[0-9a-hjkmnp-tv-z]{32}>/);
      expect(copy.length).toBe(composed.length);
    }
    expect(bob).not.toBe(cleo);
    expect(await raw(id, '?Recipient=bob@example.net').then(({ text }) => text)).toBe(bob);
  });

  it('is the same for everybody where nothing is personal, and nobody else’s copy exists', async () => {
    const id = await world.sendMail();
    expect((await raw(id, '?Recipient=bob@example.net')).text).toBe((await raw(id)).text);
    expect((await raw(id, '?Recipient=dora@example.net')).status).toBe(404);
  });
});
