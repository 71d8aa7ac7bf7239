/**
 * `completion` prints a shell script that completes commands, options and the words that an option takes. The script is made
 * from the tree of commands, so it offers exactly what `--help` shows, and it runs no program while the user types. zsh
 * reads the script for bash through its own `bashcompinit`.
 */
import type { Command, Option } from 'commander';
import { wordsOf } from './arguments.ts';
import type { CommandGroup } from './command.ts';
import { UsageError } from './terminal.ts';

interface CommandPath {
  /** Words behind the program's name, each with a space before it: ` domain add`; empty at the top. */
  path: string;
  command: Command;
  /** Its own and those of every command. */
  options: readonly Option[];
}

const SHELLS: Readonly<Record<string, (places: readonly CommandPath[]) => string>> = {
  bash: bashScript,
  zsh: (places) => `#compdef postrider
(( $+functions[compdef] )) || { autoload -U compinit && compinit -i -D }
autoload -U +X bashcompinit && bashcompinit
${bashScript(places)}`,
  fish: fishScript,
};

export const completionCommand: CommandGroup = (program) => {
  program
    .command('completion <shell>')
    .description('print a completion script for bash, zsh or fish')
    .example(
      'postrider completion bash > ~/.local/share/bash-completion/completions/postrider',
      "echo 'source <(postrider completion zsh)' >> ~/.zshrc",
      'postrider completion fish > ~/.config/fish/completions/postrider.fish',
    )
    .runs((ctx, shell: string) => {
      const write = Object.hasOwn(SHELLS, shell) ? SHELLS[shell] : undefined;
      if (write === undefined) throw new UsageError(`use one of ${Object.keys(SHELLS).join(', ')}`);
      const script = write(placesOf(program));
      ctx.print({ Shell: shell, Script: script }, script.trimEnd());
    });
};

function placesOf(program: Command): CommandPath[] {
  const walk = (command: Command, path: string): CommandPath[] => [
    { path, command, options: [...command.options, ...(path === '' ? [] : program.options)] },
    ...command.commands.flatMap((child) => walk(child, `${path} ${child.name()}`)),
  ];
  return walk(program, '');
}

const takesValue = (option: Option) => !option.isBoolean() && !option.negate;

function bashScript(places: readonly CommandPath[]): string {
  const below = places.filter(({ path }) => path !== '').map(({ path }) => `"${path}"`);
  const values: string[] = [];
  const words: string[] = [];
  for (const { path, command, options } of places) {
    const free: string[] = [];
    for (const option of options.filter((each) => !each.hidden && takesValue(each))) {
      const known = wordsOf(option);
      if (known.length === 0) free.push(`"${path} ${option.long}"`);
      else values.push(`    "${path} ${option.long}") words="${known.join(' ')}" ;;`);
    }
    // Any other word is a file or a text of the user's own: the shell completes file names.
    if (free.length > 0) values.push(`    ${free.join('|')}) return ;;`);
    const names = command.commands.map((child) => child.name());
    const flags = options.filter(({ hidden }) => !hidden).map(({ long }) => long);
    words.push(`    "${path}") words="${[...names, ...flags, '--help'].join(' ')}" ;;`);
  }
  return `_postrider() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" before="\${COMP_WORDS[COMP_CWORD-1]}" path="" words="" i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$path \${COMP_WORDS[i]}" in
      ${below.join('|')}) path="$path \${COMP_WORDS[i]}" ;;
    esac
  done
  case "$path $before" in
${values.join('\n')}
  esac
  if [ -z "$words" ]; then case "$path" in
${words.join('\n')}
  esac; fi
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -o default -F _postrider postrider
`;
}

function fishScript(places: readonly CommandPath[]): string {
  const below = places.filter(({ path }) => path !== '').map(({ path }) => `'${path}'`);
  const lines = places.flatMap(({ path, command, options }) => {
    const here = `complete -c postrider -n "test (__postrider_path) = '${path}'"`;
    return [
      ...command.commands.map(
        (child) => `${here} -f -a ${child.name()} -d ${quotedForFish(child.description())}`,
      ),
      ...options
        .filter(({ hidden }) => !hidden)
        .map((option) => {
          const known = wordsOf(option);
          const value = !takesValue(option) ? '' : known.length === 0 ? ' -r' : ` -x -a '${known.join(' ')}'`;
          return `${here} -l ${option.long?.slice(2)}${value} -d ${quotedForFish(option.description)}`;
        }),
    ];
  });
  return `function __postrider_path
  set -l path ''
  for word in (commandline -opc)[2..-1]
    if contains -- "$path $word" ${below.join(' ')}
      set path "$path $word"
    end
  end
  echo "$path"
end
${lines.join('\n')}
`;
}

function quotedForFish(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
