/** `tail` prints events as they happen, until the server stops or the user interrupts it. */
import type { StreamedEvent } from '../client/api-types.ts';
import { queryOf } from './api-client.ts';
import type { CommandContext, CommandGroup } from './command.ts';
import { CommandError, jsonText, styled } from './terminal.ts';

export const tailCommand: CommandGroup = (program) => {
  program
    .command('tail')
    .description('show events as they happen; with --json one JSON object per line')
    .option('--event <event>', 'only events of this kind, e.g. bounced')
    .option('--to <address>', 'only events of this recipient')
    .option('--tag <tag>', 'only events of messages with this tag')
    .option('--domain <domain>', 'only this sender domain')
    .example('postrider tail --event failed')
    .asks(async (ctx, api, { event, to, tag, domain }: Record<string, string | undefined>) => {
      if (api.alone !== null) {
        throw new CommandError(`no server runs in ${api.alone}, so no events happen there; start one`);
      }
      ctx.terminal.stderr.write('Waiting for events; Ctrl-C ends.\n');
      const query = queryOf({ Event: event, Recipient: to, Tag: tag, Domain: domain });
      for await (const happened of api.events<StreamedEvent>(`/events/stream${query}`)) {
        ctx.terminal.stdout.write(`${ctx.json ? jsonText(happened) : line(ctx, happened)}\n`);
      }
      throw new CommandError('the server ended the stream');
    });
};

const COLUMN = 12;

function line(ctx: CommandContext, event: StreamedEvent): string {
  const colour = { Info: 'green', Warn: 'yellow', Error: 'red' } as const;
  const kind = styled(ctx.terminal.stdout, colour[event.LogLevel], event.Event.padEnd(COLUMN));
  const about = [event.Recipient ?? event.Domain, event.Subject, event.Reason].filter((text) => text !== '');
  return `${event.At}  ${kind} ${about.join('  ')}`;
}
