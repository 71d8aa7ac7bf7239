/** `suppress …`: the addresses that a sender domain does not send to; import and export as CSV. */

import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import type { Suppression } from '../client/api-types.ts';
import type { Page } from '../client/many.ts';
import { csvLine } from '../lib/csv.ts';
import { whyNot } from '../lib/why-not.ts';
import { SUPPRESSION_REASONS } from '../model/suppression.ts';
import { FIELDS } from '../policy/suppressions/import-presets.ts';
import { EXISTING, firstPage, pagesOf, queryOf } from './api-client.ts';
import { numberFrom, oneOf } from './arguments.ts';
import type { CommandContext, CommandGroup } from './command.ts';
import { FORCE, refuseExisting } from './files.ts';
import { warnOfUnknownDomains } from './known-domain.ts';
import { withProgress } from './progress.ts';
import { addedText, addImport, sendItems } from './suppress-import.ts';
import { CommandError, counted, Failure, jsonText, tableOf } from './terminal.ts';

const REASONS = `one of ${SUPPRESSION_REASONS.join(', ')}`;
const EXPORTED = [...FIELDS, 'Domain', 'CreatedAt', 'MessageID', 'Reply', 'Rule'] as const;

interface ListOptions {
  domain?: string;
  reason?: string;
  email?: string;
  recipientDomain?: string;
  limit: number;
}

export const suppressCommands: CommandGroup = (program) => {
  const suppress = program
    .command('suppress')
    .description('the suppression list: addresses to which nothing is sent');
  const domainOption = ['--domain <domain>', 'sender domain of the list'] as const;

  suppress
    .command('add <address...>')
    .description('add addresses to the suppression list')
    .requiredOption(...domainOption)
    .option('--reason <reason>', REASONS, oneOf(SUPPRESSION_REASONS), 'Manual')
    .option('--note <note>', 'a note for people who look later')
    .option('--expires <time>', 'ISO time at which the entry ends')
    .example('postrider suppress add --domain example.com reader@example.net')
    .makes(
      async (
        ctx,
        api,
        addresses: string[],
        options: { domain: string; reason: string; note?: string; expires?: string },
      ) => {
        const items = addresses.map((Email) => ({
          Email,
          Reason: options.reason,
          Note: options.note,
          ExpiresAt: options.expires,
        }));
        const done = await sendItems(api, options.domain, items);
        ctx.print(done, addedText(done));
        await warnOfUnknownDomains(ctx, api, [options.domain]);
      },
    );

  suppress
    .command('remove <address...>')
    .description('remove addresses from the suppression list')
    .requiredOption(...domainOption)
    .option('--reason <reason>', 'only the entry with this reason', oneOf(SUPPRESSION_REASONS))
    .example('postrider suppress remove --domain example.com reader@example.net')
    .asks(async (ctx, api, addresses: string[], options: { domain: string; reason?: string }) => {
      const query = queryOf({ Domain: options.domain, Reason: options.reason });
      for (const address of addresses) {
        await api.call('DELETE', `/suppressions/${encodeURIComponent(address)}${query}`);
      }
      const { length } = addresses;
      ctx.print({ Removed: length }, `Removed ${counted(length, 'address', 'addresses')}.`);
    });

  suppress
    .command('list')
    .description('list the newest suppressions and their origin')
    .option(...domainOption)
    .option('--reason <reason>', 'only entries with this reason', oneOf(SUPPRESSION_REASONS))
    .option('--email <address>', 'only this address')
    .option('--recipient-domain <domain>', 'only addresses of this domain')
    .option('--limit <number>', 'maximum number of entries, up to 100', numberFrom(1, 100), 25)
    .example('postrider suppress list --domain example.com --reason Bounce')
    .asks(async (ctx, api, options: ListOptions) => {
      const query = {
        Domain: options.domain,
        Reason: options.reason,
        Email: options.email,
        RecipientDomain: options.recipientDomain,
      };
      const { Items } = await firstPage<Page<Suppression>>(api, '/suppressions', query, options.limit);
      const rows = Items.map((item) => [
        item.Email,
        item.Reason,
        item.Domain,
        item.CreatedAt.slice(0, 10),
        item.ExpiresAt?.slice(0, 10) ?? '-',
        item.Note === '' ? item.Reply : item.Note,
      ]);
      const head = ['ADDRESS', 'REASON', 'DOMAIN', 'SINCE', 'UNTIL', 'WHY'];
      ctx.print(Items, tableOf(head, rows, 'Nobody is on the list.'));
    });

  addImport(suppress);

  suppress
    .command('export [file]')
    .description('write the whole list as CSV to a file or standard output (with --json as JSON)')
    .option(...domainOption)
    .option(...FORCE)
    .example('postrider suppress export --domain example.com list.csv')
    .runs(async (ctx, given: string | undefined, options: { domain?: string; force?: boolean }) => {
      const file = given === '-' ? undefined : given;
      if (file !== undefined) await refuseExisting(file, options.force);
      await ctx.withApi(
        async (api) => {
          const count = await writeList(
            ctx,
            pagesOf(api, `/suppressions${queryOf({ Domain: options.domain })}`),
            file,
          );
          if (file !== undefined)
            ctx.print({ Exported: count }, `${counted(count, 'entry', 'entries')} written to ${file}.`);
        },
        { ...EXISTING, exact: ctx.json || file !== undefined || ctx.terminal.stdout.isTTY !== true },
      );
    });
};

/** Writes the entries to `file` or standard output; how many there were. */
async function writeList(
  ctx: CommandContext,
  pages: AsyncIterable<Page<Suppression>>,
  file: string | undefined,
): Promise<number> {
  const out = file === undefined ? ctx.terminal.stdout : createWriteStream(file, { mode: 0o600 });
  const failed = new Promise<never>((_, reject) => out.once('error', reject));
  failed.catch(() => {});
  const asJson = file === undefined && ctx.json;
  let count = 0;
  try {
    await withProgress(ctx.terminal, 'addresses', async (progress) => {
      out.write(asJson ? '[' : csvLine(EXPORTED));
      for await (const { Items: items } of pages) {
        const text = asJson
          ? items.map((item, i) => `${count + i === 0 ? '' : ','}\n${jsonText(item)}`).join('')
          : items.map((item) => csvLine(EXPORTED.map((name) => item[name] ?? ''))).join('');
        if (!out.write(text)) await Promise.race([failed, once(out, 'drain')]);
        count += items.length;
        progress(count, null);
      }
      if (asJson) out.write('\n]\n');
      if (file !== undefined) {
        await Promise.race([failed, new Promise<void>((resolve) => out.end(() => resolve()))]);
      }
    });
  } catch (cause) {
    if (cause instanceof Failure) throw cause;
    throw new CommandError(`${file ?? 'standard output'} cannot be written: ${whyNot(cause)}`);
  }
  return count;
}
