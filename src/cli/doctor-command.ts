/** `doctor` repeats every DNS, network and health check and prints the fix of each that fails; then the exit code is 1. */

import type { Doctor, DomainCheck } from '../client/api-types.ts';
import { queryOf } from './api-client.ts';
import { changeLines, checkLines } from './check-text.ts';
import type { CommandContext, CommandGroup } from './command.ts';
import { CommandError, counted, styled } from './terminal.ts';

export const doctorCommand: CommandGroup = (program) => {
  program
    .command('doctor [domain]')
    .description('check this server and its sender domains, and show how to fix problems')
    .option('--zone', 'print only the DNS records of the domain, as lines of a zone file')
    .example('postrider doctor', 'postrider doctor example.com --zone >> example.com.zone')
    .asks(async (ctx, api, domain: string | undefined, options: { zone?: boolean }) => {
      const answer = await api.call<Doctor>('GET', `/doctor${queryOf({ Domain: domain })}`);
      if (options.zone === true) {
        if (answer.Domains.length === 0) throw new CommandError('There is no sender domain yet.');
        ctx.print(
          answer.Domains.map(({ Domain, Zone }) => ({ Domain, Zone })),
          answer.Domains.map(({ Domain, Zone }) => `; ${Domain}\n${Zone.trimEnd()}`).join('\n'),
        );
        return;
      }
      ctx.print(answer, `${text(ctx, answer)}${unasked(api.alone)}`);
      const all = [...answer.Instance, ...answer.Domains.flatMap(({ Checks }) => Checks)];
      if (all.some(({ Status }) => Status === 'Failed')) ctx.fail();
    });
};

function text(ctx: CommandContext, answer: Doctor): string {
  const { stdout } = ctx.terminal;
  const blocks = [
    [styled(stdout, 'bold', 'This server'), ...checkLines(stdout, answer.Instance)].join('\n'),
    ...answer.Domains.map((domain) => domainText(ctx, domain)),
  ];
  const all = [...answer.Instance, ...answer.Domains.flatMap(({ Checks }) => Checks)];
  return `${blocks.join('\n\n')}\n\n${summary(all)}`;
}

function domainText(ctx: CommandContext, domain: Doctor['Domains'][number]): string {
  const { stdout } = ctx.terminal;
  return [
    styled(stdout, 'bold', `${domain.Domain}: ${domain.Status}`),
    ...checkLines(stdout, domain.Checks),
    ...changeLines(domain.Changes),
  ].join('\n');
}

function summary(checks: readonly DomainCheck[]): string {
  const count = (status: DomainCheck['Status']) => checks.filter(({ Status }) => Status === status).length;
  const unknown = count('Unknown') === 0 ? '' : `${count('Unknown')} unknown, `;
  return `${count('Ok')} ok, ${unknown}${counted(count('Warning'), 'warning')}, ${count('Failed')} failed.`;
}

/** Without a running server there are no listeners to test. */
function unasked(alone: string | null): string {
  return alone === null ? '' : `\nNo server runs on ${alone}, so its own listeners were not tried.`;
}
