import { expect, it } from 'vitest';
import { mayIssue } from './authorities.ts';

it.each([
  ["Let's Encrypt", ['letsencrypt.org'], true],
  ["LET'S ENCRYPT ", ['digicert.com', 'LetsEncrypt.org'], true],
  ["Let's Encrypt", ['digicert.com'], false],
  ["Let's Encrypt", [], false],
  ['Sectigo Limited', ['comodoca.com'], true],
  ['Somebody Ltd', ['digicert.com'], null],
  ['constructor', ['digicert.com'], null],
])('%s among %j: %s', (organization, allowed, answer) => {
  expect(mayIssue(organization, allowed)).toBe(answer);
});
