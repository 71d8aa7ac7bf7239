/** `template …`: stored texts with placeholders, created from files, and filled in to check them. */
import type { Template, TemplateRendering, TemplateSummary } from '../client/api-types.ts';
import { EXISTING, queryOf } from './api-client.ts';
import type { CommandGroup, ContextCommand } from './command.ts';
import { readObject, readText } from './files.ts';
import { warnOfUnknownDomains } from './known-domain.ts';
import { printTable } from './lists.ts';
import { printable, table, UsageError } from './terminal.ts';

interface TextOptions {
  subject?: string;
  html?: string;
  text?: string;
}

export const templateCommands: CommandGroup = (program) => {
  const template = program
    .command('template')
    .description('stored messages with variables, filled in when they are sent');
  const path = (id: string) => `/templates/${encodeURIComponent(id)}`;

  withTexts(
    template
      .command('create <name>')
      .description('store a template; errors are shown with line and column')
      .option('--domain <domain>', 'sender domain of the template'),
  )
    .example(
      "echo '<p>Hi {{name}}</p>' | postrider template create welcome --domain example.com --subject Hi --html -",
    )
    .runs(async (ctx, name: string, options: TextOptions & { domain?: string }) => {
      const texts = await textsOf(options);
      await ctx.withApi(async (api) => {
        const body = await api.call<Template>('POST', '/templates', {
          Name: name,
          Domain: options.domain,
          ...texts,
        });
        ctx.print(body, body.TemplateID);
        if (options.domain !== undefined) await warnOfUnknownDomains(ctx, api, [options.domain]);
      });
    });

  withTexts(
    template
      .command('update <id>')
      .description('create a new version that has only the given parts; older versions stay')
      .option('--name <name>', 'a new name; without a new text, no version is created')
      .option('--if-version <version>', 'only if this version is still the newest'),
  )
    .example(
      "echo 'Hi {{name}}' | postrider template update 019ab0c1-7d3e-7000-8000-000000000000 --subject Hi --text -",
    )
    .runs(async (ctx, id: string, options: TextOptions & { name?: string; ifVersion?: string }) => {
      const texts = await textsOf(options, options.name !== undefined);
      const Version = options.ifVersion === undefined ? undefined : wholeNumber(options.ifVersion);
      await ctx.withApi(async (api) => {
        const body = await api.call<Template>('PUT', path(id), {
          Name: options.name,
          ...texts,
          Version,
        });
        ctx.print(body, `Version ${body.Version}.`);
      }, EXISTING);
    });

  template
    .command('list')
    .description('list all templates, newest first')
    .example('postrider template list')
    .runs((ctx) =>
      printTable<TemplateSummary>(
        ctx,
        '/templates',
        ['ID', 'VERSION', 'DOMAIN', 'UPDATED', 'NAME'],
        (item) => [item.TemplateID, String(item.Version), item.Domain, item.UpdatedAt, item.Name],
        'No templates yet.',
      ),
    );

  template
    .command('show <id>')
    .description('show the parts of a template and the variables that it uses')
    .option('--at <version>', 'an older version (default the newest)')
    .example('postrider template show 019ab0c1-7d3e-7000-8000-000000000000')
    .asks(async (ctx, api, id: string, options: { at?: string }) => {
      const query = queryOf({ Version: options.at });
      const shown = await api.call<Template>('GET', `${path(id)}${query}`);
      ctx.print(
        shown,
        [
          table([
            ['Name', shown.Name],
            ['Domain', shown.Domain],
            ['Version', `${shown.Version} of ${shown.Versions[0]?.Version ?? shown.Version}`],
            ['Variables', shown.Variables.join(' ') || '(none)'],
          ]),
          ...parts(shown),
        ].join('\n\n'),
      );
    });

  template
    .command('render <id>')
    .description('fill in a template and show the result without sending it')
    .option('--variables <file>', 'JSON object with the values; - reads standard input')
    .option('--at <version>', 'an older version (default the newest)')
    .option('--strict', 'refuse if a variable is missing')
    .example(
      `echo '{"name": "Ann"}' | postrider template render 019ab0c1-7d3e-7000-8000-000000000000 --variables -`,
    )
    .runs(async (ctx, id: string, options: { variables?: string; at?: string; strict?: boolean }) => {
      const variables = await readObject(options.variables);
      await ctx.withApi(async (api) => {
        const shown = await api.call<TemplateRendering>('POST', `${path(id)}/render`, {
          Variables: variables ?? {},
          Version: options.at === undefined ? undefined : wholeNumber(options.at),
          Strict: options.strict,
        });
        ctx.print(shown, parts(shown).join('\n\n'));
        if (shown.Missing.length > 0) {
          ctx.terminal.stderr.write(`Missing: ${shown.Missing.map(printable).join(', ')}\n`);
        }
      }, EXISTING);
    });

  template
    .command('remove <id>')
    .description('remove a template with all versions')
    .example('postrider template remove 019ab0c1-7d3e-7000-8000-000000000000')
    .asks(async (ctx, api, id: string) => {
      await api.call('DELETE', path(id));
      ctx.print({ Removed: id }, `Removed ${id}.`);
    });
};

/** The options for the texts of a version. */
function withTexts(command: ContextCommand): ContextCommand {
  return command
    .option('--subject <text>', 'subject line')
    .option('--html <file>', 'HTML text; - reads standard input')
    .option('--text <file>', 'plain text; - reads standard input');
}

async function textsOf(options: TextOptions, mayBeNone = false): Promise<object> {
  if (options.html === '-' && options.text === '-') {
    throw new UsageError('standard input can be read once: --html - or --text -, not both');
  }
  const html = await readText(options.html);
  const text = await readText(options.text);
  if (!mayBeNone && (options.subject ?? html ?? text) === undefined) {
    throw new UsageError('give a text: --subject TEXT, --html FILE or --text FILE');
  }
  return {
    Subject: options.subject,
    HTMLContent: html,
    PlainContent: text,
  };
}

/** Each text there is, under its name. */
function parts(texts: Pick<TemplateRendering, 'Subject' | 'HTMLContent' | 'PlainContent'>): string[] {
  return (['Subject', 'HTMLContent', 'PlainContent'] as const).flatMap((name) => {
    const text = texts[name];
    return text === null ? [] : [`${name}:\n${text.trimEnd()}`];
  });
}

function wholeNumber(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text))
    throw new UsageError(`"${text}" is not a version; it is a whole number from 1`);
  return Number(text);
}
