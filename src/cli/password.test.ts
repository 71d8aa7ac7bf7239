import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { readPassword } from './password.ts';
import type { Terminal } from './terminal.ts';

/** A terminal; `type` waits until the text is on the screen. */
function terminal() {
  let screen = '';
  const stderr = new PassThrough();
  stderr.on('data', (chunk) => {
    screen += chunk;
  });
  const stdin = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => stdin });
  const type = async (prompt: string, text: string) => {
    while (!screen.includes(prompt)) await new Promise(setImmediate);
    screen = screen.slice(screen.indexOf(prompt) + prompt.length);
    stdin.write(text);
  };
  const password = readPassword({ stdin, stderr } as unknown as Terminal);
  // The test looks at it later.
  password.catch(() => undefined);
  return { password, type, screen: () => screen };
}

describe('a password at a terminal', () => {
  it('is asked for twice and not shown', async () => {
    const { password, type, screen } = terminal();
    await type('Password', 'correct horse battery\r');
    await type('The same again', 'correct horse battery\r');
    expect(await password).toBe('correct horse battery');
    expect(screen()).not.toContain('horse');
  });

  it('is refused if the second is another, or nothing is typed', async () => {
    const differs = terminal();
    await differs.type('Password', 'one\r');
    await differs.type('The same again', 'two\r');
    await expect(differs.password).rejects.toThrow('the two passwords are not the same');
    const ended = terminal();
    await ended.type('Password', '\u0004');
    await expect(ended.password).rejects.toThrow('nothing was typed');
  });
});
