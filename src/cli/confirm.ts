/**
 * Confirmation before something that cannot be undone. At a terminal the user is asked on standard error and must type
 * `yes`; without a terminal the command needs `--yes`.
 */
import { createInterface } from 'node:readline/promises';
import { CommandError, type Terminal, UsageError } from './terminal.ts';

/** `--yes` as every such command has it. */
export const YES = ['--yes', 'do not ask for confirmation'] as const;

/**
 * Returns if the command may continue. Throws CommandError if the answer is not yes, UsageError if there is no terminal.
 * `what`: the question without its mark, such as `Erase all data of a@example.net permanently`.
 */
export async function confirm(
  { stdin, stderr }: Pick<Terminal, 'stdin' | 'stderr'>,
  what: string,
  yes: boolean | undefined,
): Promise<void> {
  if (yes === true) return;
  if (stdin.isTTY !== true || stderr.isTTY !== true) {
    throw new UsageError(`${what}? There is no terminal to confirm on; repeat the command with --yes`);
  }
  const lines = createInterface({ input: stdin, output: stderr });
  try {
    const said = await lines.question(`${what}? Type yes to continue: `);
    if (said.trim().toLowerCase() !== 'yes') throw new CommandError('nothing was done');
  } finally {
    lines.close();
  }
}
