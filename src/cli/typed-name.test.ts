import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { createProgram } from './program.ts';
import type { Terminal } from './terminal.ts';
import { typedName } from './typed-name.ts';

const streams = { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() };
const { tree } = createProgram({
  ...streams,
  environment: {},
  calledAs: () => 'postrider',
} as never as Terminal);

it.each([
  ['domain add', '/Domain', '<domain>'],
  ['domain set', '/Retention/ContentDays', 'Retention.ContentDays'],
  ['token create', '/Domains/1', '--domain, value 2'],
  ['token create', '/ExpiresIn', '--expires-in'],
  ['token create', '/IPAllowList/0', '--allow-ip, value 1'],
  ['smtp create', '/Domain', '--domain'],
  ['user add', '/Email', '<email>'],
  ['webhook create', '/WebhookURL', '<url>'],
  ['send', '/CC/2/email', '--cc, value 3'],
  ['send', '/From/email', '--from'],
  ['send', '/HTMLContent', '--html'],
  ['send', '/TemplateID', '--template'],
  ['suppress add', '/Items/1/Email', '<address>, value 2'],
  ['suppress add', '/Items/0/ExpiresAt', '--expires'],
  ['queue hold', '/SenderDomain', '--from'],
])('%s: %s is %s', (words, pointer, name) => {
  let command = tree;
  for (const word of words.split(' '))
    command = command.commands.find((one) => one.name() === word) ?? command;
  expect(typedName(command, pointer)).toBe(name);
});
