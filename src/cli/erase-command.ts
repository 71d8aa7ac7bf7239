/** `erase` removes a person's data permanently, so it asks for confirmation first. */
import type { EraseAnswer } from '../client/api-types.ts';
import { EXISTING, portionsOf } from './api-client.ts';
import type { CommandGroup } from './command.ts';
import { confirm, YES } from './confirm.ts';
import { withProgress } from './progress.ts';
import { counted, printable } from './terminal.ts';

/** Messages that one request of an erasure looks at: some seconds of work. */
const PER_REQUEST = 10_000;

export const eraseCommand: CommandGroup = (program) => {
  program
    .command('erase <address>')
    .description("remove a person's data; a suppression stays as a hash and still stops mail")
    .option(...YES)
    .example('postrider erase reader@example.net')
    .runs(async (ctx, address: string, options: { yes?: boolean }) => {
      await confirm(ctx.terminal, `Erase all data of ${printable(address)} permanently`, options.yes);
      await ctx.withApi(async (api) => {
        const sum = { Messages: 0, Events: 0, Pending: 0 };
        const portions = portionsOf((After) =>
          api.call<EraseAnswer>('POST', '/erase', { Email: address, Limit: PER_REQUEST, After }),
        );
        await withProgress(ctx.terminal, 'percent', async (progress) => {
          for await (const done of portions) {
            sum.Messages += done.Messages;
            sum.Events += done.Events;
            sum.Pending += done.Pending;
            progress(Math.floor(done.Share * 100), 100);
          }
        });
        ctx.print(sum, eraseText(address, sum));
      }, EXISTING);
    });
};

type Erased = Pick<EraseAnswer, 'Messages' | 'Events' | 'Pending'>;

function eraseText(address: string, { Messages, Events, Pending }: Erased): string {
  if (Messages === 0 && Events === 0 && Pending === 0) {
    return `${address}: found in no message and no event. If you expected some, check the spelling.`;
  }
  const done = `${address}: masked in ${counted(Messages, 'message')} and ${counted(Events, 'event')}; the content of mail to this address is removed.`;
  return Pending === 0
    ? done
    : `${done}\n${counted(Pending, 'message with this address is', 'messages with this address are')} not final yet. Run this again later.`;
}
