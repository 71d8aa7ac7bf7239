/** The demonstration fills a folder with mail of all outcomes, up to the present. */
import { expect, it } from 'vitest';
import { startDemo } from '../demo/demo.ts';
import { fileScope, temporaryFolder } from './harness.ts';

const scope = fileScope();

it('plays a day of mail, which ends now', async () => {
  const demo = await startDemo({ data: await temporaryFolder(scope), http: '127.0.0.1:0', days: 1, seed: 1 });
  scope.defer(() => demo.stop());
  const { Items } = (await demo.call('GET', '/stats?Interval=hour')) as {
    Items: { Counts: Record<string, number>; Intervals: { At: string }[] }[];
  };
  const { Counts, Intervals } = Items[0] ?? { Counts: {}, Intervals: [] };
  for (const kind of ['Delivered', 'Deferred', 'Bounced']) expect(Counts[kind], kind).toBeGreaterThan(0);
  expect(Date.now() - Date.parse(Intervals.at(-1)?.At ?? '')).toBeLessThan(2 * 3_600_000);
  const attention = (await demo.call('GET', '/attention')) as { Items: { Kind: string }[] };
  expect(attention.Items.map(({ Kind }) => Kind)).toEqual(expect.arrayContaining(['domain', 'webhook']));
}, 60_000);
