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

/** The columns that can change after a person was added. */
export function changedColumns(person: Person) {
  const { id, email, created_at, last_sign_in_at, ...changed } = PERSON.row(person);
  return changed;
}

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
