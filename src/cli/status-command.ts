/** `status` lists the problems of the server and how to fix them; the exit code is 1 if one of them is a failure. */
import type { Attention, AttentionItem } from '../client/api-types.ts';
import type { CommandContext, CommandGroup } from './command.ts';
import { styled, wrapped } from './terminal.ts';

const INDENT = 6;

export const statusCommand: CommandGroup = (program) => {
  program
    .command('status')
    .description('show what needs attention, and what to do about it')
    .example('postrider status')
    .asks(async (ctx, api) => {
      const asked = await api.call<Attention>('GET', '/attention');
      const own = api.alone === null ? [] : [notRunning(api.alone)];
      const answer = { ...asked, Items: [...own, ...asked.Items] };
      ctx.print(answer, statusText(ctx, answer));
      if (answer.Items.some(({ Severity }) => Severity === 'Failing')) ctx.fail();
    });
};

/** The API of this command is one that was started for it. */
function notRunning(folder: string): AttentionItem {
  return {
    ...{ Kind: 'server', Severity: 'Failing', Subject: 'process', Command: 'postrider serve' },
    ...{ Since: null, Until: null, Waiting: null, Action: null },
    Message: `No server runs on ${folder}: nothing is accepted or sent here.`,
    Fix: 'Start it, with systemctl start postrider if setup wrote a unit. If it ends by itself, the log says why: journalctl -u postrider -p warning',
  };
}

function statusText(ctx: CommandContext, answer: Attention): string {
  const { critical, normal, bulk } = answer.Waiting;
  const blocks = answer.Items.map((item) => itemText(ctx, item));
  if (blocks.length === 0)
    blocks.push(
      answer.ExaminedAt === null ? 'Nothing is known to need attention.' : 'Nothing needs attention.',
    );
  // Some seconds after each start, which is when somebody looks.
  if (answer.ExaminedAt === null) {
    blocks.push(
      `This server itself (certificates, disk, resolver, clock) was not checked so far. To do it now: ${ctx.command('doctor')}`,
    );
  }
  if (answer.More) blocks.push('There is more; these are the first twenty of each kind.');
  const waiting = `Waiting: ${critical} critical, ${normal} normal, ${bulk} bulk`;
  blocks.push(
    `${waiting}${answer.Complete ? '' : ' at least'}. What for: ${ctx.command('queue')}\nWhy mail fails: ${ctx.command('causes')}`,
  );
  return blocks.join('\n\n');
}

function itemText(ctx: CommandContext, item: AttentionItem): string {
  const { stdout } = ctx.terminal;
  const mark = item.Severity === 'Failing' ? styled(stdout, 'red', 'FAIL') : styled(stdout, 'yellow', 'warn');
  const facts = [
    ...(item.Since === null ? [] : [`since ${item.Since}`]),
    ...(item.Until === null ? [] : [`until ${item.Until}`]),
    ...(item.Waiting === null ? [] : [`${item.Waiting} waiting`]),
  ];
  const lines = [
    item.Message,
    ...(facts.length === 0 ? [] : [facts.join(', ')]),
    item.Fix,
    ...(item.Command === null ? [] : [ctx.command(item.Command.replace(/^postrider /, ''))]),
  ];
  const shown = lines.map((line) => wrapped(stdout, INDENT, line));
  return `${mark}  ${shown.join(`\n${' '.repeat(INDENT)}`)}`;
}
