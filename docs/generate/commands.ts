/** commands.md: the tree of commands as the program builds it, each with its own help. */
import type { Command } from 'commander';
import { createProgram } from '../../src/cli/program.ts';
import { CONFIG_KEYS } from '../../src/config/table.ts';
import { code, page, table } from './markdown.ts';

/** The tree, built without running anything. */
export function commandTree(): Command {
  const { stdout, stderr, stdin } = process;
  return createProgram({ calledAs: () => 'postrider', environment: {}, stdout, stderr, stdin }).tree;
}

/** Every command that does something, with its full name: `domain add`. */
export function leafCommands(tree: Command): readonly { name: string; command: Command }[] {
  const collect = (command: Command, prefix: string): { name: string; command: Command }[] =>
    command.commands
      .filter((child) => child.name() !== 'help')
      .flatMap((child) => {
        const name = `${prefix}${child.name()}`;
        if (child.commands.length === 0) return [{ name, command: child }];
        // A group that does something by itself shows an example of it.
        const own = exampleOf(child) === '' ? [] : [{ name, command: child }];
        return [...own, ...collect(child, `${name} `)];
      });
  return collect(tree, '');
}

export function commandsPage(): string {
  const tree = commandTree();
  const global = optionTable(tree);
  const sections = leafCommands(tree).map(({ name, command }) => section(name, command));
  return page('Commands', INTRODUCTION, '## Options of every command', global, ...sections);
}

function section(name: string, command: Command): string {
  const usage = command.registeredArguments.map((argument) => {
    const word = `${argument.name()}${argument.variadic ? '...' : ''}`;
    return argument.required ? `<${word}>` : `[${word}]`;
  });
  const blocks = [`## \`${['postrider', name, ...usage].join(' ')}\``, sentence(command.description())];
  const options = optionTable(command);
  if (options !== '') blocks.push(options);
  if (takesConfiguration(command)) {
    blocks.push('Takes every key of [the configuration](config.md) as a flag: `--<key> <value>`.');
  }
  const example = exampleOf(command);
  if (example !== '') blocks.push(`\`\`\`sh\n${example}\n\`\`\``);
  return blocks.join('\n\n');
}

function optionTable(command: Command): string {
  const rows = command.options
    .filter((option) => !isConfigurationKey(option.long) || !takesConfiguration(command))
    .map((option) => [
      code(option.flags),
      option.mandatory ? `${option.description} (required)` : option.description,
      ['string', 'number'].includes(typeof option.defaultValue) ? code(String(option.defaultValue)) : '–',
    ]);
  return rows.length === 0 ? '' : table(['Option', 'Meaning', 'Default'], rows);
}

function takesConfiguration(command: Command): boolean {
  return command.options.some((option) => option.long === '--http');
}

function isConfigurationKey(long: string | undefined): boolean {
  return long !== undefined && Object.hasOwn(CONFIG_KEYS, long.slice(2));
}

/** The lines below `Example:` in the command's own help, without the prompt. */
function exampleOf(command: Command): string {
  let help = '';
  command.configureOutput({
    writeOut: (text) => {
      help += text;
    },
    getOutHelpWidth: () => 1000,
    getOutHasColors: () => false,
  });
  command.outputHelp();
  return help
    .slice(help.indexOf('Example:'))
    .split('\n')
    .flatMap((line) => (line.startsWith('  $ ') ? [line.slice(4)] : []))
    .join('\n');
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

const INTRODUCTION = `In the repository the program is \`./bin/postrider\`. Exit codes: 0 done, 1 failed, 2 wrong usage: a
mistake in the command line, in the configuration or in a plan of \`simulate\`. A command uses the API of
the server that owns the data folder, on loopback with the token from the file \`admin-token\`. If no server runs, the command
starts the same API on the same store until it ends, without delivery and with the settings of \`serve\`. \`--json\` prints the
answer of the API; of a list, all its items. Results go to standard output, everything else to standard error. With \`--json\`
a refusal is the last line of standard error: \`{"Error", "Errors", "ExitCode"}\`, where \`Errors\` are those of the API. An option
with one value may be given only once.`;
