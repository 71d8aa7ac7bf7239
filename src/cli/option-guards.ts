/**
 * Refuses options that commander would ignore, in the whole tree of commands: an option with a single value that is given
 * twice (commander keeps the last), and an option of a command group that is given to a command below it (commander gives it
 * to the group, whose own action does not run). Options with several values and switches may be repeated.
 */
import type { Command, Option } from 'commander';
import { keepsAll } from './arguments.ts';

/** Watches `command` and everything below it. Call once, when the tree is complete. */
export function guardOptions(command: Command): void {
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
