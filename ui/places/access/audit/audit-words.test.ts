import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { NOT_AUDITED } from '../../../../src/listeners/http/audit.ts';
import { auditText, OPERATIONS } from './audit-words.ts';

const ID = '0193a1b2-7c3d-7e4f-8a5b-6c7d8e9f0a1b';
const text = (Operation: string, Resource: string, names: Record<string, string> = {}) =>
  auditText({ Operation, Resource }, (id) => names[id] ?? null);

it('has words for every operation that leaves an entry, and for no other', () => {
  const { paths } = JSON.parse(readFileSync('openapi.json', 'utf8')) as {
    paths: Record<string, Record<string, { operationId?: string }>>;
  };
  const audited = Object.values(paths).flatMap((item) =>
    Object.entries(item).flatMap(([method, { operationId }]) =>
      method === 'get' || operationId === undefined || NOT_AUDITED.has(operationId) ? [] : [operationId],
    ),
  );
  expect(OPERATIONS.map(([id]) => id).toSorted()).toEqual(audited.toSorted());
});

it('names what it was done to, as far as that is known', () => {
  expect(text('createDomain', 'domains/example.com')).toBe('added the domain example.com');
  expect(text('rotateDkimKey', 'domains/example.com/dkim/rotate')).toBe(
    'changed the DKIM key of the domain example.com',
  );
  expect(text('createToken', `tokens/${ID}`)).toBe('made a token');
  expect(text('createToken', `tokens/${ID}`, { [ID]: 'shop' })).toBe('made the token shop');
  expect(text('deleteSmtpCredential', `smtp-credentials/${ID}`)).toBe('revoked an SMTP credential');
  expect(text('tryPath', 'queue/paths/example.net/try')).toBe(
    'had mail tried at once to the site example.net',
  );
  expect(text('newerOperation', 'things/7')).toBe('called newerOperation on things/7');
});
