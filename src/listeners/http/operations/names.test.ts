import { afterAll, beforeAll, expect, it } from 'vitest';
import { openWorld, type World } from '../test-world.ts';

let world: World;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());

/** Everything that a person names, with the member that holds the name. */
const NAMED: readonly (readonly [string, string, object])[] = [
  ['/tokens', 'Name', { Preset: 'Send' }],
  ['/smtp-credentials', 'Name', { Domain: 'example.com' }],
  ['/webhooks', 'Description', { Event: 'accept', WebhookURL: 'http://127.0.0.1:9/x' }],
  ['/templates', 'Name', { Subject: 's', PlainContent: 'x' }],
  ['/sandbox/rules', 'Inbox', { Result: 'Bounce' }],
  ['/sandbox/rules', 'Recipient', { Result: 'Bounce' }],
  ['/sandbox/rules', 'Subject', { Result: 'Bounce' }],
  ['/sandbox/rules', 'Tag', { Result: 'Bounce' }],
  ['/queue/hold', 'Reason', { All: true }],
];

it.each(NAMED)('%s refuses control characters in %s', async (path, name, more) => {
  for (const control of ['\u001b[31m', '\n', '\u007f', '\u009b', '\u2028']) {
    const body = { ...more, [name]: `a${control}b` };
    const token = path === '/queue/hold' ? world.tokens.admin : world.tokens.own;
    const reply = await world.call('POST', path, { body, token });
    expect([reply.status, reply.json()]).toMatchObject([
      422,
      {
        Errors: [{ Field: `/${name}`, Message: expect.stringContaining('must not hold control characters') }],
      },
    ]);
  }
});
