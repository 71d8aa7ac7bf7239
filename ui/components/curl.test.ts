/** A command to paste holds whatever the mail says: nothing in it ends a quotation or is a key for a terminal. */
import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { curlCommand } from './curl.ts';

const BODY = { PlainContent: `It's "new" $(id) \`id\`\u007f\u007f; id #\u009b31m\u001b[201~\r\n` };

it('gives a shell the same body', () => {
  const command = curlCommand('http://127.0.0.1:8025', BODY).replace(/^curl/, 'printf "%s\\n"');
  const words = execFileSync('sh', ['-c', command], { encoding: 'utf8' }).trimEnd().split('\n');
  expect(JSON.parse(words.at(-1) ?? '')).toEqual(BODY);
});

it('has no character that a terminal obeys', () => {
  expect(curlCommand('', BODY).replaceAll('\n', '')).toMatch(/^[^\p{Cc}]+$/u);
});
