/** `domain …`: sender domains and the DNS records that prove them. */
import type { DmarcSummary, Domain } from '../client/api-types.ts';
import { type Api, EXISTING, queryOf } from './api-client.ts';
import { numberFrom } from './arguments.ts';
import { changeLines, checkLines } from './check-text.ts';
import type { CommandContext, CommandGroup } from './command.ts';
import { dmarcText } from './dmarc-text.ts';
import { takesAnyDomain } from './known-domain.ts';
import { printTable } from './lists.ts';
import { recordsText } from './record-text.ts';
import { readSettings, settingRows } from './setting-words.ts';
import { counted, table } from './terminal.ts';

interface NewDomain {
  verified?: boolean;
  subdomains?: boolean;
  dkimSelector?: string;
}

export const domainCommands: CommandGroup = (program) => {
  const domain = program.command('domain').description('sender domains');

  domain
    .command('add <domain>')
    .description('add a sender domain, create its DKIM keys and print the DNS records to publish')
    .option('--verified', 'skip the DNS check: you confirm that the domain is yours')
    .option('--subdomains', 'allow its sub-domains to send too')
    .option(
      '--dkim-selector <prefix>',
      'how the selectors of its keys begin, where another server signs for the domain with pr1 (default pr)',
    )
    .example('postrider domain add example.com')
    .makes(async (ctx, api, name: string, options: NewDomain) => {
      const added = await api.call<Domain>('POST', '/domains', {
        Domain: name,
        Verified: options.verified,
        Subdomains: options.subdomains,
        DkimSelector: options.dkimSelector,
      });
      if (options.verified) {
        ctx.terminal.stderr.write(
          `${added.Domain} is verified because you said so. If its mail leaves this server, publish its records: receivers look for them.\n`,
        );
      }
      await warnOfShortName(ctx, api, added);
      const next = options.verified ? '' : `\n\nThen run: ${ctx.command(`domain verify ${added.Domain}`)}`;
      ctx.print(added, `${recordsText(ctx.terminal.stdout, added)}${next}`);
    });

  domain
    .command('list')
    .description('list all sender domains')
    .example('postrider domain list')
    .runs((ctx) =>
      printTable<Domain>(
        ctx,
        '/domains',
        ['DOMAIN', 'STATUS', 'VERIFIED BY'],
        (item) => [item.Domain, item.Status, item.VerifiedBy ?? '-'],
        'No domains yet.',
      ),
    );

  domain
    .command('show <domain>')
    .description('show a sender domain and its DNS records')
    .example('postrider domain show example.com')
    .asks(async (ctx, api, name: string) => {
      const found = await api.call<Domain>('GET', `/domains/${encodeURIComponent(name)}`);
      await warnOfShortName(ctx, api, found);
      ctx.print(
        found,
        `${found.Domain}: ${found.Status}\n\n${settingsText(ctx, found)}\n\n${recordsText(ctx.terminal.stdout, found)}`,
      );
    });

  domain
    .command('set <domain> <setting...>')
    .description('change settings of a domain: name=value, or group.name=value; `domain show` lists them')
    .example('postrider domain set example.com RequireTls=true Retention.ContentDays=0')
    .runs(async (ctx, name: string, settings: string[]) => {
      const change = readSettings(settings);
      await ctx.withApi(async (api) => {
        const changed = await api.call<Domain>('PATCH', `/domains/${encodeURIComponent(name)}`, change);
        ctx.print(changed, `${changed.Domain}\n\n${settingsText(ctx, changed)}`);
      }, EXISTING);
    });

  domain
    .command('verify <domain>')
    .description('look up the DNS records now and show what is wrong')
    .example('postrider domain verify example.com')
    .asks(async (ctx, api, name: string) => {
      const found = await api.call<Domain>('POST', `/domains/${encodeURIComponent(name)}/verify`);
      const lines = [...checkLines(ctx.terminal.stdout, found.Checks), ...changeLines(found.Changes)];
      const failed = found.Checks.some((check) => check.Status === 'Failed');
      const unknown = found.Checks.filter(({ Status }) => Status === 'Unknown');
      const isUndecided = unknown.some(({ BlocksSending }) => BlocksSending);
      const blocking = found.Checks.filter(({ BlocksSending }) => BlocksSending).map(({ Name }) => Name);
      if (isUndecided) {
        lines.push(
          '',
          `It could not be found out whether ${found.Domain} is in order: ${counted(unknown.length, 'look-up')} failed, so its status is that of before.`,
          `Find out why: ${ctx.command('doctor')}`,
        );
      }
      if (blocking.length > 0 && found.Status !== 'Verified') {
        lines.push(
          '',
          `Mail from ${found.Domain} is refused until these checks are ok: ${blocking.join(', ')}. The other checks do not stop it.`,
        );
      }
      if (failed) lines.push('', `The records to publish: ${ctx.command(`domain show ${found.Domain}`)}`);
      ctx.print(found, [`${found.Domain}: ${found.Status}`, ...lines].join('\n'));
      if (isUndecided || found.Status !== 'Verified') ctx.fail();
    });

  domain
    .command('rotate-dkim <domain>')
    .description('sign with the standby key from now on; it must be published in the DNS')
    .example('postrider domain rotate-dkim example.com')
    .asks(async (ctx, api, name: string) => {
      const found = await api.call<Domain>('POST', `/domains/${encodeURIComponent(name)}/dkim/rotate`);
      ctx.print(
        found,
        `${found.Domain} now signs with the other key. Keep both DKIM records published, the old one for 7 days;\nthen "${ctx.command(`domain show ${found.Domain}`)}" shows a new record to publish instead of the old one.`,
      );
    });

  domain
    .command('dmarc <domain>')
    .description('show what receivers report of mail in the name of a domain (DMARC), by where it came from')
    .option('--days <n>', 'reports of so many days', numberFrom(1, 90), 30)
    .example('postrider domain dmarc example.com')
    .asks(async (ctx, api, name: string, { days }: { days: number }) => {
      const path = `/domains/${encodeURIComponent(name)}`;
      const summary = await api.call<DmarcSummary>('GET', `${path}/dmarc${queryOf({ Days: days })}`);
      const { DnsRecords, Status } = await api.call<Domain>('GET', path);
      const advised = DnsRecords.find(({ Purpose }) => Purpose === 'DMARC');
      const address = /rua=mailto:(\S+)/.exec(advised?.Value ?? '')?.[1] ?? null;
      ctx.print(summary, dmarcText(summary, { days, address, isVerified: Status !== 'Pending' }));
    });

  domain
    .command('remove <domain>')
    .description('remove a sender domain and its keys; its waiting mail is held')
    .example('postrider domain remove example.com')
    .asks(async (ctx, api, name: string) => {
      await api.call('DELETE', `/domains/${encodeURIComponent(name)}`);
      ctx.print({ Removed: name }, `Removed ${name}.`);
    });
};

/** The SPF record names the server, so it has no effect if the server has no fully qualified name. In development nobody publishes it. */
async function warnOfShortName(ctx: CommandContext, api: Api, domain: Domain): Promise<void> {
  const spf = domain.DnsRecords.find((record) => record.Value.startsWith('v=spf1 '));
  const name = / a:([^.\s]+)(?:\s|$)/.exec(spf?.Value ?? '')?.[1];
  if (name === undefined || (await takesAnyDomain(api))) return;
  ctx.terminal.stderr.write(
    `Warning: the server is called "${name}", which is not a full name, so its SPF record has no effect. ` +
      `Set hostname (e.g. mail.example.com) before you publish the record; then: ${ctx.command(`domain show ${domain.Domain}`)}\n`,
  );
}

/** What an answer says of a domain besides its settings. */
const FACTS: ReadonlySet<string> = new Set<keyof Domain>([
  ...(['Domain', 'Status', 'VerifiedBy', 'CreatedAt', 'UpdatedAt', 'VerifiedAt', 'FailingSince'] as const),
  ...(['HeldFrom', 'LastCheckedAt', 'DnsRecords', 'Zone', 'DkimKeys', 'Alignment', 'Checks'] as const),
  ...(['Changes', 'Returns'] as const),
]);

/** Everything that `domain set` can change, in the words that it takes. */
function settingsText(ctx: CommandContext, domain: Domain): string {
  const settings = Object.fromEntries(Object.entries(domain).filter(([name]) => !FACTS.has(name)));
  return `Settings, changed by "${ctx.command(`domain set ${domain.Domain} NAME=VALUE`)}":\n\n${table(settingRows(settings))}`;
}
