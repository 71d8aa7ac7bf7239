/**
 * The command line: one commander program. Every command has a help text with an example, `--json` for programs, and the
 * exit codes 0, 1 and 2 (2 = wrong usage, also a mistake in the configuration). Each command is in its own file.
 */

import { readFileSync } from 'node:fs';
import { type Command, CommanderError, Option } from 'commander';
import type { Mode } from '../config/key-facts.ts';
import { CONFIG_KEYS, type ConfigKey } from '../config/table.ts';
import { openApi } from './api-client.ts';
import { keepsAll, keysGiven } from './arguments.ts';
import { auditCommand } from './audit-command.ts';
import { backupCommands } from './backup-commands.ts';
import { commandLine, withCommands } from './called-as.ts';
import { causeCommands } from './cause-commands.ts';
import { type CommandContext, type CommandGroup, ContextCommand } from './command.ts';
import { completionCommand } from './completion-command.ts';
import { showConfig } from './config-command.ts';
import { doctorCommand } from './doctor-command.ts';
import { domainCommands } from './domain-commands.ts';
import { eraseCommand } from './erase-command.ts';
import { explainCommands } from './explain-command.ts';
import { failureLine, reportFailure } from './failure.ts';
import { messageCommands } from './message-commands.ts';
import { nodesCommand } from './nodes-command.ts';
import { queueCommand } from './queue-command.ts';
import { refusalsCommand } from './refusals-command.ts';
import { sandboxCommands } from './sandbox-commands.ts';
import { runServer } from './server-commands.ts';
import { setupCommand } from './setup/setup-command.ts';
import { simulateCommand } from './simulate-command.ts';
import { smtpCommands } from './smtp-commands.ts';
import { statusCommand } from './status-command.ts';
import { suppressCommands } from './suppress-commands.ts';
import { tailCommand } from './tail-command.ts';
import { templateCommands } from './template-commands.ts';
import { jsonText, type Terminal, UsageError } from './terminal.ts';
import { tokenCommands } from './token-commands.ts';
import { overrideCommands } from './traffic-commands.ts';
import { transferCommand } from './transfer-command.ts';
import { typedName } from './typed-name.ts';
import { userCommands } from './user-commands.ts';
import { warmupCommands } from './warmup-commands.ts';
import { webhookCommands } from './webhook-commands.ts';

export interface Program {
  /** Resolves with the exit code: 0, 1, or 2 for wrong usage. Errors have been written to standard error by then. */
  run(args: readonly string[]): Promise<number>;
  /** The tree of commands, for the reference page. */
  readonly tree: Command;
}

/** The program on one terminal. Nothing runs before `run`. */
export function createProgram(terminal: Terminal): Program {
  const version = packageVersion();
  let exitCode = 0;
  let jsonErrors = false;
  let startsServer = false;
  const called = terminal.calledAs();
  let running: Command;
  const program: ContextCommand = new ContextCommand('postrider', context)
    .description('Self-hosted email sending service')
    .version(version, '-V, --version')
    .option('--data <folder>', 'data folder (default ./postrider-data)')
    .option('--json', 'print JSON')
    .enablePositionalOptions(false)
    .showHelpAfterError(seeHelp(called, ''))
    .configureHelp({
      showGlobalOptions: true,
      // Those of a group are refused by the commands below it.
      visibleGlobalOptions: ({ parent }): Option[] => (parent === null ? [] : [...program.options]),
      sortSubcommands: true,
      optionDescription: (option) => optionHelp(option),
    })
    .exitOverride()
    .hook('preAction', (_, command) => {
      running = command;
      refuseEmpty(command);
    })
    .configureOutput({
      writeOut: (text) => void terminal.stdout.write(text),
      // With --json a refusal is one line, written when the command ends.
      // As every other refusal begins.
      outputError: (text, write) => write(withMeant(text.replace(/^error: /, 'postrider: '), startsServer)),
      writeErr: (text) => {
        if (!jsonErrors) terminal.stderr.write(text);
      },
    });

  function context(): CommandContext {
    const options = program.opts<{ data?: string; json?: boolean }>();
    const flags = { ...(options.data === undefined ? {} : { data: options.data }) };
    const json = options.json === true;
    const command = (words: string) => commandLine(terminal, flags, words);
    return {
      terminal,
      version,
      flags,
      json,
      command,
      // Not in a subject such as "Re: postrider rocks".
      asTyped: (text) =>
        withCommands(text, (words) =>
          program.commands.some((one) => one.name() === words.split(' ', 1)[0])
            ? command(words)
            : `postrider ${words}`,
        ),
      async withApi(work, options) {
        const typed = (pointer: string) => typedName(running, pointer);
        const api = await openApi(flags, terminal, version, { exact: json, ...options, typed });
        try {
          return await work(api);
        } finally {
          await api.close();
        }
      },
      fail() {
        exitCode = 1;
      },
      print(value, text) {
        terminal.stdout.write(json ? `${jsonText(value, 2)}\n` : text === '' ? '' : `${text}\n`);
      },
    };
  }

  for (const [heading, groups] of groupsOfCommands()) {
    program.commandsGroup(heading);
    for (const group of groups) group(program);
  }
  adopt(program, called);
  // Below the last heading too; afterwards, because groups of commands have no such heading.
  program.helpCommand(true);
  guardOptions(program);

  return {
    tree: program,
    async run(args) {
      if (args.length === 0) {
        program.outputHelp();
        return 2;
      }
      jsonErrors = wantsJson(args);
      startsServer = args.includes('dev') || args.includes('serve');
      try {
        await program.parseAsync([...args], { from: 'user' });
        return exitCode;
      } catch (cause) {
        if (!(cause instanceof CommanderError)) return reportFailure(cause, terminal, jsonErrors);
        if (cause.exitCode === 0) return 0;
        if (jsonErrors) terminal.stderr.write(failureLine(usageText(cause), 2));
        return 2;
      }
    },
  };

  /** Every group of commands, under its heading in `--help`. */
  function groupsOfCommands(): readonly (readonly [string, readonly CommandGroup[]])[] {
    return [
      ['Start a server:', [serverCommands]],
      [
        'Domains and access:',
        [
          domainCommands,
          doctorCommand,
          tokenCommands,
          smtpCommands,
          userCommands,
          auditCommand,
          webhookCommands,
        ],
      ],
      ['Messages:', [messageCommands, tailCommand, refusalsCommand, templateCommands, sandboxCommands]],
      [
        'Delivery:',
        [
          statusCommand,
          queueCommand,
          causeCommands,
          overrideCommands,
          warmupCommands,
          nodesCommand,
          simulateCommand,
          explainCommands,
        ],
      ],
      ['Recipients:', [suppressCommands, eraseCommand]],
      [
        'This installation:',
        [setupCommand, configCommand, backupCommands, transferCommand, completionCommand],
      ],
    ];
  }

  function serverCommands(): void {
    for (const [name, description, usage] of [
      [
        'dev',
        'run a development server: it captures all mail and accepts any SMTP client on this machine',
        'postrider dev',
      ],
      [
        'serve',
        'run a production server',
        "postrider serve --data /var/lib/postrider --route 'smtp://relay.example.com:587'",
      ],
    ] as const) {
      configOptions(program.command(name), name)
        .description(description)
        .addHelpText('after', ELSEWHERE)
        .example(usage)
        .runs(async ({ flags }, options: Record<string, string | undefined>) => {
          exitCode = await runServer(name, { ...flags, ...keysGiven(KEYS, options) }, terminal, version);
        });
    }
  }

  function configCommand(): void {
    configOptions(program.command('config'), 'serve')
      .description(
        'show each configuration key: value, origin, default and meaning, of the running server if there is one',
      )
      .option('--mode <mode>', 'show what a start of dev or serve would use')
      .example('postrider config --data /var/lib/postrider')
      .runs((ctx, { mode, ...flags }: Record<string, string | undefined>) =>
        showConfig(ctx, mode, keysGiven(KEYS, flags)),
      );
  }
}

/** An argument that is empty, as from a variable of a shell that is not set, would be an address of a list in the API. */
function refuseEmpty({ args, registeredArguments }: Command): void {
  const index = args.findIndex((text) => text.trim() === '');
  const argument = registeredArguments[Math.min(index, registeredArguments.length - 1)];
  if (index >= 0 && argument !== undefined) throw new UsageError(`<${argument.name()}> is empty`);
}

/** Words that people type who know other programs, and the commands that they look for. */
const OTHER_WORDS: Readonly<Record<string, string>> = {
  bounces: 'messages --status Bounced',
  check: 'doctor',
  dns: 'domain show',
  inbox: 'sandbox list',
  init: 'setup',
  log: 'tail',
  logs: 'tail',
  passwd: 'user passwd',
  relay: 'setup, or queue path',
  start: 'serve',
  upgrade: 'backup, then start the new version',
  why: 'status, causes, queue path or message',
};

/** The same for flags of `dev` and `serve`. */
const OTHER_FLAGS: Readonly<Record<string, string>> = {
  '--host': '--http 127.0.0.1:PORT',
  '--port': '--http 127.0.0.1:PORT',
  '--smtp': '--submission 127.0.0.1:PORT',
  '--smtp-port': '--submission 127.0.0.1:PORT',
};

/** Commander proposes commands and flags that are spelt alike; some are not what is meant. */
function withMeant(text: string, startsServer: boolean): string {
  const [, kind, word = ''] = /^postrider: unknown (command|option) '([a-z-]+)/.exec(text) ?? [];
  const others = kind === 'command' ? OTHER_WORDS : startsServer ? OTHER_FLAGS : {};
  const meant = Object.hasOwn(others, word) ? others[word] : undefined;
  return meant === undefined ? text : `${text.split('\n', 1)[0]}\n(Did you mean ${meant}?)\n`;
}

/** Global options work behind a command too: `postrider domain list --json`. */
function adopt(command: Command, called: string, before = ''): void {
  for (const child of command.commands) {
    const words = `${before}${child.name()} `;
    child.exitOverride().copyInheritedSettings(command).showHelpAfterError(seeHelp(called, words));
    nameUnknownFirst(child as Command & Refusals);
    adopt(child, called, words);
  }
}

/** How commander refuses; its types leave these out. */
interface Refusals {
  missingMandatoryOptionValue(option: Option): void;
  unknownOption(flag: string): void;
}

/** `--form` instead of `--from` is reported as unknown, not `--from` as missing. `-`, and what follows `--`, are no options. */
function nameUnknownFirst(command: Command & Refusals): void {
  const parse = command.parseOptions.bind(command);
  const missing = command.missingMandatoryOptionValue.bind(command);
  let unknown: string | undefined;
  command.parseOptions = (words) => {
    const parsed = parse(words);
    [unknown] = parsed.unknown;
    return parsed;
  };
  command.missingMandatoryOptionValue = (option) => {
    if (unknown === undefined) missing(option);
    else command.unknownOption(unknown);
  };
}

/** What to type after a mistake: the help of the same command. */
function seeHelp(called: string, words: string): string {
  return `See: ${called} ${words}--help`;
}

/** Found before parsing, because arguments that cannot be parsed are refused in the same form. */
function wantsJson(args: readonly string[]): boolean {
  const end = args.indexOf('--');
  return args.slice(0, end < 0 ? args.length : end).includes('--json');
}

/** The message of commander; if a group is called without a command, commander only shows the help. */
function usageText({ code, message }: CommanderError): string {
  return code === 'commander.help' ? 'name a command; see --help' : message.replace(/^error: /, '');
}

const KEYS = Object.keys(CONFIG_KEYS) as ConfigKey[];

const ELSEWHERE = `
Every flag is also an environment variable (--mx-port: POSTRIDER_MX_PORT) and a key of postrider.json in the data
folder. Values in force and where they come from: postrider config`;

/** As commander writes it, but without quotes around a default, and with `required` for a mandatory option. */
function optionHelp(option: Option): string {
  const facts = [
    ...(option.mandatory ? ['required'] : []),
    ...(option.defaultValue === undefined ? [] : [`default: ${String(option.defaultValue)}`]),
  ];
  return facts.length === 0 ? option.description : `${option.description} (${facts.join(', ')})`;
}

function configOptions(command: ContextCommand, mode: Mode): ContextCommand {
  for (const [name, facts] of Object.entries(CONFIG_KEYS)) {
    if (name === 'data') continue;
    const usual = facts.defaults[mode];
    const form = `${facts.form}${usual === null || usual === '' ? '' : `; default ${usual}`}`;
    const text = `${facts.meaning} (${form})`.replaceAll('`', '');
    const option = new Option(`--${name} <value>`, text);
    command.addOption(facts.secret ? option.hideHelp() : option);
  }
  return command;
}

function packageVersion(): string {
  const file = new URL('../../package.json', import.meta.url);
  const { version } = JSON.parse(readFileSync(file, 'utf8')) as { version: string };
  return version;
}

/**
 * Refuses options that commander would ignore, in `command` and everything below it: an option with a single value that is
 * given twice (commander keeps the last), and an option of a group that is given to a command below it (commander gives it
 * to the group, whose own action does not run). Options with several values and switches may be repeated. Call once, when
 * the tree is complete.
 */
function guardOptions(command: Command): void {
  for (const option of command.options) guardOption(command, option);
  if (command.parent !== null && command.commands.length > 0) {
    command.hook('preAction', (group, acting) => {
      if (group === acting) return;
      const given = group.options.find(
        (option) => group.getOptionValueSource(option.attributeName()) === 'cli',
      );
      if (given !== undefined) {
        acting.error(`error: option '${given.flags}' is not one of '${fullName(acting)}'`);
      }
    });
  }
  for (const child of command.commands) guardOptions(child);
}

function guardOption(command: Command, option: Option): void {
  if (option.isBoolean() || option.negate || keepsAll(option)) return;
  let given = 0;
  command.on(`option:${option.name()}`, () => {
    given += 1;
    if (given > 1) {
      command.error(`error: option '${option.flags}' is given more than once, and takes one value`);
    }
  });
}

function fullName(command: Command): string {
  const names: string[] = [];
  for (let at: Command | null = command; at?.parent; at = at.parent) names.unshift(at.name());
  return names.join(' ');
}
