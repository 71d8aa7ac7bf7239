/** People who sign in, and their sessions, as rows. */
import type { Person, PersonSession } from '../../../model/person.ts';
import { record } from '../record.ts';

export const PERSON = record<Person>({
  id: 'plain',
  email: 'plain',
  passwordHash: 'plain',
  role: 'plain',
  domains: 'json',
  preset: 'plain',
  createdAt: 'plain',
  lastSignInAt: 'plain',
  disabledAt: 'plain',
  secondFactor: 'json',
  identity: 'json',
});

export const SESSION = record<PersonSession>({
  id: 'plain',
  secretHash: 'plain',
  personId: 'plain',
  createdAt: 'plain',
  lastUsedAt: 'plain',
  endsAt: 'plain',
  userAgent: 'plain',
  ip: 'plain',
  byProvider: 'flag',
  provenAt: 'plain',
});
