import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { createProgram } from './program.ts';
import type { Terminal } from './terminal.ts';
import { typedName, withName } from './typed-name.ts';

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

it.each([
  ['The address has no @', '/From/email', '--from', '--from: The address has no @'],
  ['ExpiresIn must be at least 60', '/ExpiresIn', '--expires-in', '--expires-in must be at least 60'],
  [
    'Name the domains of a member in Domains',
    '/Domains',
    '--domain',
    'Name the domains of a member in --domain',
  ],
  [
    'Domains[0] is not a domain name',
    '/Domains/0',
    '--domain, value 1',
    '--domain, value 1 is not a domain name',
  ],
  [
    'Items[1].Email must not be empty',
    '/Items/1/Email',
    '<address>, value 2',
    '<address>, value 2 must not be empty',
  ],
  ['Email must not be empty', '/Items/1/Email', '<address>, value 2', '<address>, value 2 must not be empty'],
  ['"a b" is not a domain name', '/Domain', '<domain>', '"a b" is not a domain name'],
  ['The domain example.com exists already', '/Domain', '<domain>', 'The domain example.com exists already'],
  ['Tracking has no Click', '/Tracking', 'Tracking', 'Tracking has no Click'],
  [
    'A password needs at least 12 characters',
    '/Password',
    'Password',
    'A password needs at least 12 characters',
  ],
  [
    'The template needs the variable token',
    '/Variables/token',
    '--variables',
    '--variables: The template needs the variable token',
  ],
  ['is too long', '/Metadata/a(', 'Metadata.a(', 'Metadata.a(: is too long'],
  ['It is too long', '/Domain', '<domain>', '<domain>: It is too long'],
  [
    'ContentDays must be a number',
    '/Retention/ContentDays',
    'Retention.ContentDays',
    'Retention.ContentDays must be a number',
  ],
])('%s, at %s typed as %s: %s', (message, pointer, name, sentence) => {
  expect(withName(message, pointer, name)).toBe(sentence);
});
